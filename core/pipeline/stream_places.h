#ifndef FEEDMILL_CORE_PIPELINE_STREAM_PLACES_H_
#define FEEDMILL_CORE_PIPELINE_STREAM_PLACES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk/cursor.h"
#include "core/chunk/generator_state.h"
#include "core/pipeline/read_place.h"

namespace feedmill {

// The place of an InputStream.
struct StreamPlace {
  Cursor at;           // of a piece's begin
  uint64_t taken = 0;  // rows and skipped elements after `at`
  StageState stage;    // of the client steps at `at`
  // A generator's state that leads to `at`, or null.
  GeneratorStatePtr state{};
};

// The place of a pass over the inputs of a combining source.
struct PassPlace {
  struct Input {
    uint64_t turn = 0;  // earlier starts of the input in this pass
    StreamPlace place;
  };
  std::vector<uint64_t> turns;  // InputSelector::Save; none for a zip
  std::vector<Input> inputs;
};

// Encodes a place, with the states of the inputs' generators and the rows that
// client steps hold, as the state of a source (RowState).
std::string EncodePlace(const PassPlace& place);
// Nullopt: the bytes are no place. Memory is bounded by a constant times their
// size.
std::optional<PassPlace> DecodePlace(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STREAM_PLACES_H_
