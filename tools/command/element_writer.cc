#include "tools/command/element_writer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/process/write_error.h"

namespace feedmill {

namespace {

// A pipe that poll calls writable takes so much without blocking (pipe(7)).
constexpr size_t kPipeWriteBytes = 4096;
constexpr int kLookMilliseconds = 100;

}  // namespace

absl::Status WriteAll(int fd, std::string_view text,
                      const std::atomic<bool>& cancel) {
  // Only a write that never blocks cannot miss `cancel`: a signal interrupts
  // no write that begins just after it, and one that has written something
  // returns that instead of EINTR.
  struct stat about {};
  const bool file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  while (!text.empty()) {
    if (cancel) return Cancelled("interrupted while writing");
    pollfd wait{fd, POLLOUT, 0};
    if (!file && poll(&wait, 1, kLookMilliseconds) <= 0) continue;
    const ssize_t written =
        write(fd, text.data(),
              file ? text.size() : std::min(text.size(), kPipeWriteBytes));
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    switch (errno) {
      case EINTR:
      case EAGAIN:
        break;
      case EPIPE:
        return absl::AbortedError("the reader of the output has gone");
      default:
        return Unavailable("cannot write the output: {}",
                           WriteErrorText(errno));
    }
  }
  return absl::OkStatus();
}

ElementWriter::ElementWriter(Format format, int fd, absl::Time start,
                             const std::atomic<bool>& cancel)
    : format_(format), fd_(fd), start_(start), cancel_(cancel) {}

absl::Status ElementWriter::Add(const Chunk& chunk) {
  if (chunk.rows == 0) return absl::OkStatus();
  if (elements_ == 0) first_ = absl::Now();
  if (format_ == Format::kSummary) hash_.Add(chunk);
  if (format_ == Format::kJsonl) {
    constexpr size_t kWriteBytes = size_t{256} << 10;
    text_.clear();
    for (size_t row = 0; row < chunk.rows; ++row) {
      AppendJson(chunk, row, text_);
      text_ += '\n';
      if (text_.size() >= kWriteBytes) {
        FM_RETURN_IF_ERROR(WriteAll(fd_, text_, cancel_));
        text_.clear();
      }
    }
    FM_RETURN_IF_ERROR(WriteAll(fd_, text_, cancel_));
  }
  elements_ += chunk.rows;
  bytes_ += chunk.ElementBytes();
  return absl::OkStatus();
}

absl::Status ElementWriter::Finish(absl::Time now,
                                   const std::vector<LinkReport>& links,
                                   std::optional<uint64_t> skipped) {
  if (format_ != Format::kSummary) return absl::OkStatus();
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(now - start_));
  nlohmann::ordered_json summary;
  summary["elements"] = elements();
  summary["bytes"] = bytes();
  summary["seconds"] = seconds;
  summary["elements_per_s"] = static_cast<double>(elements()) / seconds;
  summary["first_element_s"] = nullptr;
  if (elements_ != 0) {
    summary["first_element_s"] = absl::ToDoubleSeconds(first_ - start_);
  }
  summary["order_hash"] = hash_.Hex();
  if (skipped) summary["skipped"] = *skipped;
  for (const LinkReport& link : links) {
    summary["links"].push_back(
        {{"worker",
          link.worker.value().substr(0, link.worker.value().find('#'))},
         {"transport", LinkName(link.kind)},
         {"compression", CompressionName(link.compression)},
         {"frames", link.frames},
         {"element_bytes", link.element_bytes},
         {"wire_bytes", link.wire_bytes}});
  }
  return WriteAll(fd_, summary.dump() + "\n", cancel_);
}

}  // namespace feedmill
