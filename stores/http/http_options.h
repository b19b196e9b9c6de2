#ifndef FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_
#define FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace feedmill {

// Settings for files behind http:// and https:// URLs. The defaults suit a
// store that answers within 1 to 200 ms.
struct HttpOptions {
  // Requests are repeated until fewer than 16 KiB have arrived for this time;
  // then a read fails with Unavailable.
  absl::Duration patience = absl::Seconds(60);
  // Same, if the server cannot be reached at all (unknown host, refused).
  absl::Duration unreachable_patience = absl::Seconds(10);
  // A request without a byte for this time is aborted and repeated.
  absl::Duration stall = absl::Seconds(15);
  // Limit of one request with all its repeats, at any speed.
  absl::Duration request_limit = absl::Minutes(10);

  // Maximum of parallel requests; others wait in a queue. As many again may be
  // sent while requests are silent.
  size_t requests_max = 64;
  // A request without a byte for this time is silent.
  absl::Duration silence = absl::Seconds(2);
  // Larger ranges are fetched with several parallel requests.
  uint64_t request_bytes = uint64_t{1} << 20;
  // The same for bytes that are fetched beyond announced ranges: requests grow
  // with the run, because each costs the server as much as many bytes.
  uint64_t run_request_bytes = uint64_t{2} << 20;
  // The same for servers that are near: fewer requests at a time are as fast.
  uint64_t near_request_bytes = uint64_t{8} << 20;
  // Announced ranges closer than this share a request.
  uint64_t join_gap_bytes = uint64_t{32} << 10;
  // RandomAccessFile::ahead_bytes.
  uint64_t ahead_bytes = uint64_t{16} << 20;
  // Least bytes fetched beyond announced ranges that run through a file in
  // order. More of them if the file is read fast and its server is far
  // (HttpFile::RunAheadBytes), but at most a quarter of the free memory.
  uint64_t run_ahead_bytes = uint64_t{64} << 20;
  // Memory for prefetched bytes of all files together.
  uint64_t memory_bytes = uint64_t{256} << 20;
  // Maximum size of a file from a server without ranges, which is read whole.
  // Such files are cached as far as they fit into memory_bytes.
  uint64_t whole_bytes_max = uint64_t{64} << 20;

  // Seed of the random part of the pauses between repeats.
  uint64_t seed = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_OPTIONS_H_
