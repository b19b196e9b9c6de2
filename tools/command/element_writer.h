#ifndef FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_
#define FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/chunk/order_hash.h"
#include "core/wire/message.h"
#include "feedmill/chunk.h"
#include "tools/command/line_output.h"

namespace feedmill {

// What `read` does with the elements: prints, sums up or only counts them.
class ElementWriter {
 public:
  enum class Format { kJsonl, kSummary, kNone };

  // `start`: when the reading began, for the summary. `cancel` must outlive
  // this.
  ElementWriter(Format format, int fd, absl::Time start,
                const std::atomic<bool>& cancel);

  // Takes the elements of `chunk`; jsonl lines are with the kernel when it
  // returns, so that no line waits for later elements. `go_on`, if set, is
  // called now and then with the number of the chunk's elements that are not
  // taken; on false the rest is left out. Errors as LineOutput::Write: what is
  // printed then are the first elements().
  absl::Status Add(const Chunk& chunk,
                   const std::function<bool(uint64_t left)>& go_on = {});
  // Prints the summary, if that is the format. `links`: of a service's reader.
  // `skipped`: what on_error left out, if it may.
  absl::Status Finish(absl::Time now, const std::vector<LinkReport>& links,
                      std::optional<uint64_t> skipped);

  // Elements taken; in jsonl, whole lines written.
  uint64_t elements() const { return elements_; }
  uint64_t bytes() const { return bytes_; }

 private:
  absl::Status Print(const Chunk& chunk,
                     const std::function<bool(uint64_t left)>& go_on);

  const Format format_;
  const absl::Time start_;
  LineOutput output_;
  // Read by the progress line from its own thread.
  std::atomic<uint64_t> elements_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  absl::Time first_ = absl::InfiniteFuture();
  OrderHash hash_;
  std::string text_;          // lines not yet written; keeps its memory
  std::vector<size_t> ends_;  // of these lines
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_
