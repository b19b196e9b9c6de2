// DecodeToken on arbitrary bytes; and, since few inputs have the right
// checksum, on the same with one that is.
#include <cstdint>
#include <string>
#include <string_view>

#include "client/read_token.h"
#include "core/base/check.h"

namespace feedmill {
namespace {

void Try(std::string_view bytes) {
  const auto token = DecodeToken(bytes);
  if (!token.ok()) return;
  const std::string again = EncodeToken(*token);
  const auto back = DecodeToken(again);
  FM_CHECK(back.ok() && EncodeToken(*back) == again);
  CheckToken(*token, Graph{}).IgnoreError();
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  feedmill::Try(input);
  feedmill::Try(feedmill::SealToken(input));
  feedmill::Try(feedmill::SealToken(input, /*has_state=*/true));
  return 0;
}
