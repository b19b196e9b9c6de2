#include <algorithm>
#include <cstring>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

// A larger constant in every row is considered a mistake.
constexpr int64_t kFullItemsMax = int64_t{1} << 28;

constexpr size_t kRepeatBytes = 4096;
constexpr size_t kLine = kBufferAlignment;
// From this size on, the way of writing memory matters if another core has read
// it since, as it has for every pooled buffer. Plain stores are used or, if
// they are faster, string instructions; memset and memcpy always use string
// instructions for it.
constexpr size_t kStoresFrom = size_t{64} << 10;

// Prefetch distance of stores. It hides part of the time to get lines from a
// core that has read them.
constexpr size_t kAskAhead = 32 * kLine;

// Writes `lines` copies of the line at `line`, and prefetches lines to write.
#if defined(__x86_64__)
[[gnu::target("prfchw")]]
#endif
void StoreLines(const std::byte* line, size_t lines, std::byte* to) {
  struct alignas(16) Quarter {
    uint64_t words[2];
  };
  Quarter quarters[4];
  static_assert(sizeof(quarters) == kLine);
  std::memcpy(quarters, line, kLine);
  for (std::byte* const end = to + lines * kLine; to < end; to += kLine) {
    __builtin_prefetch(to + kAskAhead, /*to write*/ 1);
    std::memcpy(to, quarters, kLine);
  }
}

// Writes `count` copies of the `size` bytes at `item`.
void RepeatInCache(const std::byte* item, size_t size, size_t count,
                   std::byte* to) {
  if (size == 1) {
    std::memset(to, std::to_integer<int>(*item), count);
    return;
  }
  std::memcpy(to, item, size);
  // The source of the copy stays in the first-level cache.
  const size_t most = std::max<size_t>(kRepeatBytes / size, 1);
  for (size_t done = 1; done < count;) {
    const size_t more = std::min({done, count - done, most});
    std::memcpy(to + done * size, to, more * size);
    done += more;
  }
}

void Repeat(const std::byte* item, size_t size, size_t count, std::byte* to) {
  if (count == 0 || size == 0) return;
  const size_t bytes = size * count;
  if (bytes < kStoresFrom || kLine % size != 0) {
    return RepeatInCache(item, size, count, to);
  }
  // Write the unaligned head, the aligned lines, and the tail.
  std::byte line[kLine];
  RepeatInCache(item, size, kLine / size, line);
  const size_t past = reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t head = (kLine - past) % kLine;
  const size_t lines = (bytes - head) / kLine;
  const size_t tail = bytes - head - lines * kLine;
  std::memcpy(to, line, head);
  StoreLines(line, lines, to + head);
  std::memcpy(to + bytes - tail, line, tail);
}

// For shorter rows, a call per row is too slow.
constexpr size_t kShortRow = 1024;

// Writes `items` copies of each of `rows` items, in order.
template <class T>
void RepeatEach(const std::byte* item, size_t rows, size_t items,
                std::byte* to) {
  constexpr size_t kItems = 16 / sizeof(T);
  struct alignas(16) Pattern {
    T items[kItems];
  };
  const size_t bytes = items * sizeof(T);
  for (size_t row = 0; row < rows; ++row, item += sizeof(T), to += bytes) {
    T value;
    std::memcpy(&value, item, sizeof(T));
    if (bytes < sizeof(Pattern)) {
      for (size_t k = 0; k < items; ++k) {
        std::memcpy(to + k * sizeof(T), &value, sizeof(T));
      }
      continue;
    }
    Pattern pattern;
    std::fill_n(pattern.items, kItems, value);
    for (size_t at = 0; at + sizeof(pattern) < bytes; at += sizeof(pattern)) {
      std::memcpy(to + at, &pattern, sizeof(pattern));
    }
    // May overwrite some items with the same value.
    std::memcpy(to + bytes - sizeof(pattern), &pattern, sizeof(pattern));
  }
}

void RepeatEach(size_t size, const std::byte* item, size_t rows, size_t items,
                std::byte* to) {
  switch (size) {
    case 1:
      return RepeatEach<uint8_t>(item, rows, items, to);
    case 2:
      return RepeatEach<uint16_t>(item, rows, items, to);
    case 4:
      return RepeatEach<uint32_t>(item, rows, items, to);
    default:
      return RepeatEach<uint64_t>(item, rows, items, to);
  }
}

// ---- full

absl::StatusOr<ValueType> InferFull(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("full", given.size(), 2));
  ValueType result;
  if (given[0].list) {
    result.shape = *given[0].list;
  } else {
    FM_ASSIGN_OR_RETURN(const int64_t dim,
                        ConstantInteger("full: the shape", given[0]));
    result.shape = {dim};
  }
  int64_t items = 1;
  for (int64_t dim : result.shape) {
    if (dim < 0) {
      return InvalidArgument("full: the dimension {} is negative", dim);
    }
    if (__builtin_mul_overflow(items, dim, &items) || items > kFullItemsMax) {
      return InvalidArgument("full: the shape {} has more than {} items",
                             ShapeToString(result.shape), kFullItemsMax);
    }
  }
  if (given[1].dtype == DType::kBytes || !given[1].shape.empty()) {
    return InvalidArgument("full: the value is a numeric scalar");
  }
  result.dtype = given[1].dtype;
  return result;
}

absl::Status ComputeFull(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  out.Reset(type.dtype, type.shape);
  const Argument& value = arguments[1];
  const size_t size = ItemSize(type.dtype);
  const size_t items = static_cast<size_t>(NumItems(type.shape));
  const std::byte* source = value.column->values.data();
  std::byte* to = out.values.Extend(rows * items * size);
  if (value.constant) {
    Repeat(source, size, rows * items, to);
  } else if (items * size < kShortRow) {
    RepeatEach(size, source, rows, items, to);
  } else {
    for (size_t row = 0; row < rows; ++row, to += items * size) {
      Repeat(source + row * size, size, items, to);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddShapingFunctions(FunctionRegistry& registry) {
  registry.Add("full", {InferFull, ComputeFull});
  registry.Describe({{"full"},
                     "`full([n, …], v)`",
                     "constant shape; v a scalar of any numeric dtype"});
}

}  // namespace feedmill
