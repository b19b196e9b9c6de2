#ifndef FEEDMILL_STORES_S3_LIST_PAGE_H_
#define FEEDMILL_STORES_S3_LIST_PAGE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/io/key_glob.h"

namespace feedmill {

// Parses the XML answer of ListObjectsV2. DataLoss if it is malformed.
absl::StatusOr<ListPage> ParseListPage(std::string_view xml);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_LIST_PAGE_H_
