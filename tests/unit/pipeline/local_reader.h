#ifndef FEEDMILL_TESTS_UNIT_PIPELINE_LOCAL_READER_H_
#define FEEDMILL_TESTS_UNIT_PIPELINE_LOCAL_READER_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/pipeline/local_sequence.h"
#include "core/process/process_quota.h"

namespace feedmill {

// Reads a local sequence chunk by chunk. (Reader, of the library above, also
// cancels, measures and saves.)
class LocalReader {
 public:
  static absl::StatusOr<std::unique_ptr<LocalReader>> Make(
      const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
      LocalSequenceOptions options) {
    FM_ASSIGN_OR_RETURN(options.element_bytes_max,
                        ElementBytesMax(options.element_bytes_max));
    auto reader = std::make_unique<LocalReader>();
    reader->element_bytes_max_ = options.element_bytes_max;
    FM_ASSIGN_OR_RETURN(reader->local_,
                        OpenLocalSequence(graph, std::move(registry), options));
    return reader;
  }

  // Returns the next elements in order; nullopt at the end. DeadlineExceeded:
  // no element came by `deadline`.
  absl::StatusOr<std::optional<Chunk>> Next(absl::Time deadline) {
    while (true) {
      if (ClientStage::Output* const output = local_.sequence->Next()) {
        return std::optional<Chunk>(std::move(output->chunk));
      }
      if (local_.sequence->end()) {
        FM_RETURN_IF_ERROR(local_.sequence->FinalStatus());
        return std::optional<Chunk>();
      }
      const ByteBudget budget(element_bytes_max_);
      if (local_.sequence->done()) {
        local_.sequence->Finish();
        continue;
      }
      if (local_.sequence->has_rows()) {
        local_.sequence->RunRows(*local_.maker);
        continue;
      }
      Piece piece;
      auto taken = local_.maker->Take(deadline, piece);
      if (taken.ok() && *taken == PieceSource::TakeResult::kTimedOut) {
        return DeadlineExceeded("no element came in time");
      }
      local_.sequence->Accept(*local_.maker, std::move(taken),
                              std::move(piece));
    }
  }

  const ElementSpec& spec() const {
    return *local_.sequence->plan().graph().output;
  }
  uint64_t seed() const { return local_.sequence->plan().seed(); }
  const SequenceReader& sequence() const { return *local_.sequence; }

 private:
  LocalSequence local_;
  uint64_t element_bytes_max_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_PIPELINE_LOCAL_READER_H_
