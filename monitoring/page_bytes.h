#ifndef FEEDMILL_MONITORING_PAGE_BYTES_H_
#define FEEDMILL_MONITORING_PAGE_BYTES_H_

#include <string_view>

// The page of the dispatcher, built by tools/page from monitoring/page.

namespace feedmill {

std::string_view PageGzip();    // HTML, packed by gzip
std::string_view PagePolicy();  // its Content-Security-Policy

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_PAGE_BYTES_H_
