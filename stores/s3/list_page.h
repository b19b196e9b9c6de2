#ifndef FEEDMILL_STORES_S3_LIST_PAGE_H_
#define FEEDMILL_STORES_S3_LIST_PAGE_H_

#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "core/io/key_glob.h"

namespace feedmill {

// Parses the XML answer of ListObjectsV2. DataLoss if it is malformed.
absl::StatusOr<ListPage> ParseListPage(std::string_view xml);

// Checks that a listing comes to an end: a server may send the same pages, or
// empty ones, for ever.
class ListingProgress {
 public:
  // Counts the next page. DataLoss if the listing makes no progress.
  absl::Status Take(const ListPage& page);

 private:
  std::unordered_set<size_t> first_names_;  // hashes
  size_t pages_ = 0;
  size_t empty_ = 0;
  size_t repeated_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_LIST_PAGE_H_
