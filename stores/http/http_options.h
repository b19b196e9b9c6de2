#ifndef FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_
#define FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// How files behind http:// and https:// URLs are read. The defaults suit a
// store that answers after 1 to 200 ms.
struct HttpOptions {
  // Requests are repeated until no byte has come for this time; then a read
  // fails: Unavailable.
  absl::Duration patience = absl::Seconds(60);
  // The same if the server cannot be reached at all (no such host, refused).
  absl::Duration unreachable_patience = absl::Seconds(10);
  // A request that has brought no byte for this time is cut and repeated.
  absl::Duration stall = absl::Seconds(15);
  // Bound of one request with all its repeats, however slowly bytes come.
  absl::Duration request_limit = absl::Minutes(10);

  // Requests under way at the same time; others wait in a queue.
  size_t requests_max = 64;
  // Larger ranges are fetched by several requests side by side.
  uint64_t request_bytes = uint64_t{1} << 20;
  // Announced ranges with fewer bytes between them share a request.
  uint64_t join_gap_bytes = uint64_t{32} << 10;
  // RandomAccessFile::ahead_bytes.
  uint64_t ahead_bytes = uint64_t{16} << 20;
  // Fetched beyond announced ranges, if they go through a file in order, but at
  // most a quarter of the memory that is left. 64 MiB hide 50 ms at 1 GB/s.
  uint64_t run_ahead_bytes = uint64_t{64} << 20;
  // Memory for bytes that were fetched ahead, of all files together.
  uint64_t memory_bytes = uint64_t{256} << 20;
  // A file of a server without ranges is read whole, up to this size. As many
  // such files are kept as fit into memory_bytes.
  uint64_t whole_bytes_max = uint64_t{64} << 20;

  // Seed of the random part of pauses between repeats.
  uint64_t seed = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_
