#include "core/sources/file_order.h"

#include <algorithm>
#include <variant>

#include "core/plan/permutation.h"

namespace feedmill {
namespace {

bool ShufflesFiles(const Graph& graph) {
  if (graph.steps.empty()) return false;
  const auto* shuffle = graph.steps[0].As<ShuffleStep>();
  return shuffle != nullptr && shuffle->files;
}

}  // namespace

FileOrder::FileOrder(const Plan& plan, const Manifest& manifest)
    : plan_(plan),
      manifest_(manifest),
      files_(ShufflesFiles(plan.graph().graph)) {}

std::shared_ptr<const FileOrder::Order> FileOrder::OrderOf(
    uint64_t pass) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_ != nullptr && last_->pass == pass) return last_;
  }
  std::vector<uint64_t> begins;  // in the order of the manifest
  uint64_t begin = 0;
  for (const ManifestFile& file : manifest_.files) {
    begins.push_back(begin);
    begin += file.records;
  }
  auto order = std::make_shared<Order>();
  order->pass = pass;
  const Permutation permutation(plan_.KeyOf(0, plan_.EpochOf(0, pass), 0),
                                begins.size());
  begin = 0;
  for (uint64_t k = 0; k < begins.size(); ++k) {
    const uint64_t file = permutation.At(k);
    order->begins.push_back(begin);
    order->sources.push_back(begins[file]);
    begin += manifest_.files[file].records;
  }
  const std::lock_guard lock(mutex_);
  last_ = std::move(order);
  return last_;
}

uint64_t FileOrder::Order::At(uint64_t index) const {
  // Finds the last file that begins at or before the index: files may be empty.
  const auto file =
      std::upper_bound(begins.begin(), begins.end(), index) - begins.begin();
  const auto k = static_cast<size_t>(file) - 1;
  return sources[k] + index - begins[k];
}

uint64_t FileOrder::At(const RecordRef& ref) const {
  return files_ ? OrderOf(ref.pass)->At(ref.index) : ref.index;
}

void FileOrder::Map(std::span<const RecordRef> refs,
                    std::vector<uint64_t>& out) const {
  out.resize(refs.size());
  if (!files_) {
    for (size_t k = 0; k < refs.size(); ++k) out[k] = refs[k].index;
    return;
  }
  std::shared_ptr<const Order> order;
  for (size_t k = 0; k < refs.size(); ++k) {
    const RecordRef& ref = refs[k];
    if (order == nullptr || order->pass != ref.pass) order = OrderOf(ref.pass);
    out[k] = order->At(ref.index);
  }
}

}  // namespace feedmill
