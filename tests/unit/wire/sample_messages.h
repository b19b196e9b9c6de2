#ifndef FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_
#define FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/wire/codec.h"
#include "core/wire/message.h"

namespace feedmill {

// The cluster of the golden files.
inline constexpr std::string_view kCluster = "golden";

struct Sample {
  std::string name;  // of its file in schemas/golden, without ".bin"
  Message message;
};

// At least one message of each kind; every field has a distinct value.
std::vector<Sample> SampleMessages();

// Returns the sample of that name, which must be a T.
template <class T>
T SampleOf(const std::string& name) {
  for (const Sample& sample : SampleMessages()) {
    if (sample.name == name) return std::get<T>(sample.message);
  }
  ADD_FAILURE() << "no sample is named " << name;
  return {};
}

// Encodes and decodes a message.
template <class T>
T Returned(const T& message) {
  const auto decoded = Decode(Encode(message, kCluster), kCluster);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return std::get<T>(*decoded);
}

// The format of a golden file: each part after its length in eight bytes.
std::string Joined(const Parts& parts);

// A frame around `piece`.
Frame FrameOf(Piece piece);
// Pictures of several sizes with tags: ragged columns of numbers and strings.
Chunk RaggedChunk();
// `rows` rows of 1 KiB; from 64 rows on they are a part of their own.
Chunk WideChunk(size_t rows);

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_WIRE_SAMPLE_MESSAGES_H_
