#include "tools/command/element_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"

namespace feedmill {

ElementWriter::ElementWriter(Format format, int fd, absl::Time start,
                             const std::atomic<bool>& cancel)
    : format_(format), start_(start), output_(fd, cancel) {}

absl::Status ElementWriter::Add(
    const Chunk& chunk, const std::function<bool(uint64_t left)>& go_on) {
  if (chunk.rows == 0) return absl::OkStatus();
  if (elements_ == 0) first_ = absl::Now();
  if (format_ == Format::kSummary) hash_.Add(chunk);
  const uint64_t before = elements_;
  absl::Status status;
  if (format_ == Format::kJsonl) {
    status = Print(chunk, go_on);
  } else {
    elements_ += chunk.rows;
  }
  bytes_ += chunk.ElementBytes(0, static_cast<size_t>(elements_ - before));
  return status;
}

absl::Status ElementWriter::Print(
    const Chunk& chunk, const std::function<bool(uint64_t left)>& go_on) {
  constexpr size_t kWriteBytes = size_t{256} << 10;
  const uint64_t all = elements_ + chunk.rows;
  std::function<bool()> begin_line;
  if (go_on) begin_line = [&] { return go_on(all - elements_); };
  text_.clear();
  ends_.clear();
  for (size_t row = 0; row < chunk.rows; ++row) {
    AppendJson(chunk, row, text_);
    text_ += '\n';
    ends_.push_back(text_.size());
    if (text_.size() < kWriteBytes && row + 1 < chunk.rows) continue;
    const uint64_t until = elements_ + ends_.size();
    FM_RETURN_IF_ERROR(output_.Write(text_, ends_, elements_, begin_line));
    if (elements_ < until) break;
    text_.clear();
    ends_.clear();
  }
  return absl::OkStatus();
}

absl::Status ElementWriter::Finish(absl::Time now,
                                   const std::vector<LinkReport>& links,
                                   std::optional<uint64_t> skipped) {
  if (format_ != Format::kSummary) return absl::OkStatus();
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(now - start_));
  nlohmann::ordered_json summary;
  summary["elements"] = elements();
  summary["bytes"] = bytes();
  summary["seconds"] = seconds;
  summary["elements_per_s"] = static_cast<double>(elements()) / seconds;
  summary["first_element_s"] = nullptr;
  if (elements_ != 0) {
    summary["first_element_s"] = absl::ToDoubleSeconds(first_ - start_);
  }
  summary["order_hash"] = hash_.Hex();
  if (skipped) summary["skipped"] = *skipped;
  for (const LinkReport& link : links) {
    summary["links"].push_back(
        {{"worker", link.worker.substr(0, link.worker.find('#'))},
         {"transport", LinkName(link.kind)},
         {"compression", CompressionName(link.compression)},
         {"frames", link.frames},
         {"element_bytes", link.element_bytes},
         {"wire_bytes", link.wire_bytes}});
  }
  const std::string line = summary.dump() + "\n";
  const std::vector<size_t> ends = {line.size()};
  std::atomic<uint64_t> lines = 0;
  return output_.Write(line, ends, lines);
}

}  // namespace feedmill
