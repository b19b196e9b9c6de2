#include "plugins/arrow/arrow_status.h"

#include <algorithm>
#include <new>

#include "core/base/utf8.h"

namespace feedmill {
namespace {

// Arrow's messages may have several lines and bytes of damaged files.
std::string OneLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (!IsUtf8(text)) {
    std::replace_if(
        text.begin(), text.end(),
        [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return text;
}

}  // namespace

absl::Status StatusOfArrow(const arrow::Status& status) {
  const std::string text = OneLine(status.message());
  if (status.IsOutOfMemory()) return ResourceExhausted("{}", text);
  return DataLoss("{}", text);
}

absl::Status StatusOfException(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return ResourceExhausted("the system refused memory to Arrow");
  }
  return DataLoss("{}", OneLine(error.what()));
}

}  // namespace feedmill
