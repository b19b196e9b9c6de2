#ifndef FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_
#define FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_

#include <string>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

struct Sample {
  std::string name;  // of its file in schemas/golden, without ".bin"
  Message message;
};

// At least one message of each kind, every field set to a value of its own.
std::vector<Sample> SampleMessages();

// A frame around `piece`.
Frame FrameOf(Piece piece);
// Pictures of several sizes with tags: ragged columns of numbers and strings.
Chunk RaggedChunk();
// `rows` rows of 1 KiB: one part of its own from 64 rows on.
Chunk WideChunk(size_t rows);

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_
