#include "core/ops/vocabulary.h"

#include <xxhash.h>

#include <bit>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"

namespace feedmill {

absl::StatusOr<Vocabulary> Vocabulary::Parse(std::string text) {
  constexpr size_t kWordsMax = size_t{1} << 31;
  Vocabulary made;
  made.text_ = std::move(text);
  const std::string& lines = made.text_;
  for (size_t begin = lines.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;
       begin < lines.size();) {
    const size_t found = lines.find('\n', begin);
    const size_t next = found == std::string::npos ? lines.size() : found;
    const size_t end =
        next > begin && lines[next - 1] == '\r' ? next - 1 : next;
    made.words_.push_back({begin, end - begin});
    begin = next + 1;
  }
  if (made.words_.size() >= kWordsMax) {
    return InvalidArgument("{} lines are too many (at most {})",
                           made.words_.size(), kWordsMax - 1);
  }
  made.buckets_.resize(std::bit_ceil(made.words_.size() * 2 + 1));
  for (size_t id = 0; id < made.words_.size(); ++id) {
    uint32_t& bucket = made.buckets_[made.BucketOf(made.At(id))];
    if (bucket != 0) {
      return InvalidArgument(
          "line {} is line {} again; each word must occur once", id + 1,
          bucket);
    }
    bucket = static_cast<uint32_t>(id + 1);
  }
  return made;
}

int64_t Vocabulary::Find(std::string_view word) const {
  return int64_t{buckets_[BucketOf(word)]} - 1;
}

size_t Vocabulary::BucketOf(std::string_view word) const {
  const size_t mask = buckets_.size() - 1;
  size_t bucket = XXH3_64bits(word.data(), word.size()) & mask;
  while (buckets_[bucket] != 0 && At(buckets_[bucket] - 1) != word) {
    bucket = (bucket + 1) & mask;
  }
  return bucket;
}

}  // namespace feedmill
