#include "monitoring/page_bytes.h"

#include <cstddef>

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

std::string_view PagePolicy() {
  return {feedmill_policy_begin,
          static_cast<size_t>(feedmill_policy_end - feedmill_policy_begin)};
}

}  // namespace feedmill
