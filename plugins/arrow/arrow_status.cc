#include "plugins/arrow/arrow_status.h"

#include <algorithm>
#include <new>

namespace feedmill {
namespace {

// Arrow's messages may have several lines.
std::string OneLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
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
