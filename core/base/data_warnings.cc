#include "core/base/data_warnings.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "core/base/url_secrets.h"

namespace feedmill {
namespace {

constexpr size_t kKinds = 6;

struct Counted {
  std::atomic<uint64_t> count = 0;
  // Set once, and kept until the process ends.
  std::atomic<const std::string*> first = nullptr;
};

std::array<Counted, kKinds>& Counts() {
  static std::array<Counted, kKinds> counts;
  return counts;
}

std::string TextOf(DataWarning kind, uint64_t count, std::string_view first) {
  const std::string_view s = count == 1 ? "" : "s";
  switch (kind) {
    case DataWarning::kImage:
      return fmt::format(
          "{} image{} decoded although the codec warns, the first "
          "with \"{}\"; decode_image: {{on_warning: fail}} makes that an error",
          count, count == 1 ? " was" : "s were", first);
    case DataWarning::kTrailingBytes:
      return fmt::format(
          "{} time{}, trailing bytes after gzip data were ignored, the first "
          "time in {}",
          count, s, first);
    case DataWarning::kNoImage:
      return fmt::format(
          "{} file{} left out that {} no image by suffix and first bytes, the "
          "first {}; a file that is named by itself is read",
          count, count == 1 ? " was" : "s were", count == 1 ? "is" : "are",
          first);
    case DataWarning::kOtherFormat:
      return fmt::format(
          "{} time{}, lines were read from bytes of another format: {}", count,
          s, first);
    case DataWarning::kTarLink:
      return fmt::format(
          "{} time{}, a link in a tar archive was left out, because it has no "
          "data, the first time {}; write the archive with tar "
          "--dereference --hard-dereference",
          count, s, first);
    case DataWarning::kOneColumn:
      return std::string(first);
  }
  return "";
}

}  // namespace

void NoteDataWarning(DataWarning kind, std::string_view example,
                     uint64_t count) {
  Counted& counted = Counts()[static_cast<size_t>(kind)];
  if (counted.first.load(std::memory_order_acquire) == nullptr) {
    auto text = std::make_unique<const std::string>(
        HideUrlSecrets(std::string(example)));
    const std::string* expected = nullptr;
    if (counted.first.compare_exchange_strong(expected, text.get())) {
      static_cast<void>(text.release());
    }
  }
  counted.count.fetch_add(count, std::memory_order_release);
}

uint64_t DataWarningsNoted() {
  uint64_t all = 0;
  for (const Counted& counted : Counts()) all += counted.count;
  return all;
}

std::vector<std::string> DataWarningTexts() {
  std::vector<std::string> texts;
  for (size_t k = 0; k < kKinds; ++k) {
    const Counted& counted = Counts()[k];
    const uint64_t count = counted.count.load(std::memory_order_acquire);
    if (count == 0) continue;
    texts.push_back(
        TextOf(static_cast<DataWarning>(k), count, *counted.first.load()));
  }
  return texts;
}

}  // namespace feedmill
