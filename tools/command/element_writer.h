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
#include "feedmill/element.h"
#include "tools/command/line_output.h"

namespace feedmill {

// Output of `read`: prints, summarises or only counts the elements.
class ElementWriter {
 public:
  enum class Format { kJsonl, kSummary, kNone };

  // `start`: time at which reading began, for the summary. `cancel` must
  // outlive this object.
  ElementWriter(Format format, int fd, absl::Time start,
                const std::atomic<bool>& cancel);

  // Writes the elements of `chunk`. JSON lines are flushed to the kernel before
  // it returns, so that no line waits for later elements. `go_on`, if set, is
  // called from time to time with the number of elements left in the chunk; if
  // it returns false, the rest is skipped. Errors as LineOutput::Write; the
  // first elements() are printed then.
  absl::Status Add(const Chunk& chunk,
                   const std::function<bool(uint64_t left)>& go_on = {});
  // Prints the summary, if that is the format. `links`: links of a service's
  // reader. `skipped`: elements skipped by on_error, if the pipeline has it.
  absl::Status Finish(absl::Time now, const std::vector<LinkReport>& links,
                      std::optional<uint64_t> skipped);

  // Elements written; for jsonl, complete lines.
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
  std::string text_;          // lines not yet written; its capacity is reused
  std::vector<size_t> ends_;  // ends of these lines
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_ELEMENT_WRITER_H_
