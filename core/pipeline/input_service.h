#ifndef FEEDMILL_CORE_PIPELINE_INPUT_SERVICE_H_
#define FEEDMILL_CORE_PIPELINE_INPUT_SERVICE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/chunk/cursor.h"
#include "core/pipeline/piece_source.h"

namespace feedmill {

// Lets other workers make inputs of one pipeline's streamed sources
// (SourceTraits::streamed). It only saves time: the elements are the same, and
// after any error the caller can make the rest itself.
//
// Thread-safety: any thread.
class InputService {
 public:
  struct Request {
    std::vector<size_t> part;     // see Graph::part
    std::string manifest_hash{};  // of the input's files; "" without files
    uint64_t seed = 0;
    uint64_t iteration = 0;
    Cursor begin{};  // the first position to read
    // NewReader's name. Inputs with one name share workers by how much is read
    // of each.
    std::string reader{};
  };

  virtual ~InputService() = default;

  // True if it saves time to read an input here from now on. A pass has waited
  // for its inputs for `in_all`, and for this one for `of_input`.
  virtual bool Helps(std::chrono::nanoseconds in_all,
                     std::chrono::nanoseconds of_input) const = 0;
  // Returns a name for a pass that reads inputs.
  virtual std::string NewReader() = 0;
  // Begins to read an input; null if it cannot be read so. Returns without
  // waiting. The pieces have the positions of the input's plan.
  virtual std::unique_ptr<PieceSource> Read(const Request& request) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INPUT_SERVICE_H_
