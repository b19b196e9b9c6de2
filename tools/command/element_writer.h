#ifndef FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_
#define FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/chunk/chunk.h"
#include "core/chunk/order_hash.h"
#include "core/wire/message.h"

namespace feedmill {

// Writes all of `text` to a file descriptor, whatever it is. Cancelled once
// `cancel` is true (seen within 100 ms, at once if a signal came), Aborted if
// the reader of a pipe has gone, Unavailable for other errors (a full disk).
absl::Status WriteAll(int fd, std::string_view text,
                      const std::atomic<bool>& cancel);

// What `read` does with the elements: prints, sums up or only counts them.
class ElementWriter {
 public:
  enum class Format { kJsonl, kSummary, kNone };

  // `start`: when the reading began, for the summary. `cancel` must outlive
  // this.
  ElementWriter(Format format, int fd, absl::Time start,
                const std::atomic<bool>& cancel);

  // Takes the elements of `chunk`; jsonl lines are with the kernel when it
  // returns, so that no line waits for later elements. Errors as WriteAll.
  absl::Status Add(const Chunk& chunk);
  // Prints the summary, if that is the format. `links`: of a service's reader.
  // `skipped`: what on_error left out, if it may.
  absl::Status Finish(absl::Time now, const std::vector<LinkReport>& links,
                      std::optional<uint64_t> skipped);

  uint64_t elements() const { return elements_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const Format format_;
  const int fd_;
  const absl::Time start_;
  const std::atomic<bool>& cancel_;
  // Read by the progress line from its own thread.
  std::atomic<uint64_t> elements_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  absl::Time first_ = absl::InfiniteFuture();
  OrderHash hash_;
  std::string text_;  // lines not yet written; keeps its memory
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_
