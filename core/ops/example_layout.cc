#include "core/ops/example_layout.h"

#include <algorithm>
#include <bit>

namespace feedmill {

static_assert(std::endian::native == std::endian::little);

void ExampleLayout::Begin(std::string_view record) {
  size_ = kNone;
  words_.clear();
  learnt_ = record;
  passed_ = 0;
}

void ExampleLayout::Leave(std::string_view part) {
  const auto begin = static_cast<size_t>(part.data() - learnt_.data());
  Keep(begin);
  passed_ = begin + part.size();
}

void ExampleLayout::Finish() {
  if (learnt_.size() < sizeof(uint64_t)) return;
  Keep(learnt_.size());
  size_ = learnt_.size();
  learnt_ = {};
}

// Declares that the bytes from `passed_` to `end` are the same in all records.
void ExampleLayout::Keep(size_t end) {
  if (learnt_.size() < sizeof(uint64_t)) return;
  for (size_t at = passed_; at < end; at += sizeof(uint64_t)) {
    Word word{std::min(at, learnt_.size() - sizeof(uint64_t))};
    const size_t unused =
        sizeof(uint64_t) - std::min(sizeof(uint64_t), end - at);
    word.mask = ~uint64_t{0} >> 8 * unused << 8 * (at - word.at);
    std::memcpy(&word.bytes, learnt_.data() + word.at, sizeof word.bytes);
    words_.push_back(word);
  }
}

}  // namespace feedmill
