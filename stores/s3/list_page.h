#ifndef FEEDMILL_STORES_S3_LIST_PAGE_H_
#define FEEDMILL_STORES_S3_LIST_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_identity.h"

namespace feedmill {

// An object of a listing. Its identity has the ETag, else the time of change.
struct ListedObject {
  std::string key;
  FileIdentity identity{};
};

// One answer of ListObjectsV2.
struct ListPage {
  std::vector<ListedObject> objects{};
  std::vector<std::string> prefixes{};  // common prefixes: folders, with '/'
  bool truncated = false;
  std::string next{};  // continuation token
};

// Parses the XML of an answer. DataLoss if it is none.
absl::StatusOr<ListPage> ParseListPage(std::string_view xml);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_LIST_PAGE_H_
