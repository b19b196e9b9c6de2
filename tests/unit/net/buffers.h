#ifndef FEEDMILL_TESTS_UNIT_NET_BUFFERS_H_
#define FEEDMILL_TESTS_UNIT_NET_BUFFERS_H_

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "feedmill/element.h"

namespace feedmill {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

// `size` bytes of `value`, in a block of `source`.
inline Buffer Filled(const std::shared_ptr<BlockSource>& source, size_t size,
                     uint8_t value) {
  BufferBuilder builder(source);
  std::memset(builder.Extend(size), value, size);
  return std::move(builder).Freeze();
}

inline bool AllAre(const Buffer& buffer, uint8_t value) {
  return std::all_of(buffer.span().begin(), buffer.span().end(),
                     [&](std::byte b) { return b == std::byte{value}; });
}

inline Buffer TextPart(std::string_view text) {
  if (text.empty()) return {};
  BufferBuilder builder;
  std::memcpy(builder.Extend(text.size()), text.data(), text.size());
  return std::move(builder).Freeze();
}

inline std::vector<std::string> Texts(const std::vector<Buffer>& parts) {
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (const Buffer& part : parts) {
    texts.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return texts;
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_NET_BUFFERS_H_
