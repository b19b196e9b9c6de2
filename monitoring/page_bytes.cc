#include "monitoring/page_bytes.h"

#include <zlib.h>

#include <cstddef>

#include "core/base/check.h"
#include "core/base/little_endian.h"

// The assembler includes the files directly: no generated source, no tool.
__asm__(
    ".section .rodata\n"
    ".global feedmill_page_begin\n"
    ".global feedmill_page_end\n"
    ".global feedmill_policy_begin\n"
    ".global feedmill_policy_end\n"
    ".hidden feedmill_page_begin\n"
    ".hidden feedmill_page_end\n"
    ".hidden feedmill_policy_begin\n"
    ".hidden feedmill_policy_end\n"
    "feedmill_page_begin:\n"
    ".incbin \"" FEEDMILL_PAGE_DIR
    "/page.html.gz\"\n"
    "feedmill_page_end:\n"
    "feedmill_policy_begin:\n"
    ".incbin \"" FEEDMILL_PAGE_DIR
    "/page.csp\"\n"
    "feedmill_policy_end:\n"
    ".previous\n");

extern "C" {
extern const char feedmill_page_begin[];
extern const char feedmill_page_end[];
extern const char feedmill_policy_begin[];
extern const char feedmill_policy_end[];
}

namespace feedmill {

std::string_view PageGzip() {
  return {feedmill_page_begin,
          static_cast<size_t>(feedmill_page_end - feedmill_page_begin)};
}

std::string PageText() {
  const std::string_view gzip = PageGzip();
  // A gzip file ends with the size of its text.
  std::string text(LoadLittleEndian<uint32_t>(gzip, gzip.size() - 4), '\0');
  z_stream state{};
  constexpr int kGzipOnly = 16;
  FM_CHECK(inflateInit2(&state, MAX_WBITS + kGzipOnly) == Z_OK);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  state.avail_in = static_cast<uInt>(gzip.size());
  state.next_out = reinterpret_cast<Bytef*>(text.data());
  state.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&state, Z_FINISH);
  inflateEnd(&state);
  FM_CHECK(result == Z_STREAM_END);
  return text;
}

std::string_view PagePolicy() {
  return {feedmill_policy_begin,
          static_cast<size_t>(feedmill_policy_end - feedmill_policy_begin)};
}

}  // namespace feedmill
