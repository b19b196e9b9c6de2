#ifndef FEEDMILL_MONITORING_PAGE_BYTES_H_
#define FEEDMILL_MONITORING_PAGE_BYTES_H_

#include <string>
#include <string_view>

// The dispatcher's status page. tools/page builds it from monitoring/page.

namespace feedmill {

std::string_view PageGzip();    // HTML, compressed with gzip
std::string PageText();         // the same, decompressed by each call
std::string_view PagePolicy();  // its Content-Security-Policy

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_PAGE_BYTES_H_
