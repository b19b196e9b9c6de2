#include "core/chunk/order_hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/check.h"
#include "core/base/little_endian.h"

namespace feedmill {
namespace {

// Values from this size on are hashed in parts, which is cheaper than a copy.
constexpr size_t kStreamFrom = 4096;

// Writes name, dtype and rank, which are the same in every row.
void PutHead(std::string& out, const ComponentSpec& spec,
             const Column& column) {
  PutU64(out, spec.name.size());
  out += spec.name;
  out.push_back(static_cast<char>(column.dtype));
  out.push_back(static_cast<char>(column.shape.size()));
}

std::string_view RowValues(const Column& column, size_t row) {
  const size_t size = ItemSize(column.dtype);
  return {reinterpret_cast<const char*>(column.values.data()) +
              static_cast<size_t>(column.RowStart(row)) * size,
          static_cast<size_t>(column.RowItems(row)) * size};
}

// Writes elements to a scratch string or, from the first large value on, part
// by part to a hash state.
class ElementText {
 public:
  explicit ElementText(std::string& scratch) : scratch_(scratch) {}

  void Begin() {
    scratch_.clear();
    streaming_ = false;
  }
  std::string& small() { return scratch_; }
  void Put(std::string_view bytes) {
    if (bytes.size() < kStreamFrom) {
      scratch_.append(bytes);
      return;
    }
    Flush();
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  uint64_t End() {
    if (!streaming_) return XXH3_64bits(scratch_.data(), scratch_.size());
    Flush();
    return XXH3_64bits_digest(&state_);
  }

 private:
  void Flush() {
    if (!streaming_) {
      XXH3_64bits_reset(&state_);
      streaming_ = true;
    }
    XXH3_64bits_update(&state_, scratch_.data(), scratch_.size());
    scratch_.clear();
  }

  std::string& scratch_;
  bool streaming_ = false;
  XXH3_state_t state_;
};

void PutRow(ElementText& writer, const ComponentSpec& spec,
            const Column& column, size_t row) {
  PutHead(writer.small(), spec, column);
  for (int64_t dim : column.RowDims(row)) {
    PutU64(writer.small(), static_cast<uint64_t>(dim));
  }
  if (column.dtype != DType::kBytes) {
    writer.Put(RowValues(column, row));
    return;
  }
  const int64_t begin = column.RowStart(row);
  const int64_t end = begin + column.RowItems(row);
  for (int64_t item = begin; item < end; ++item) {
    const std::string_view bytes = column.BytesAt(item);
    PutU64(writer.small(), bytes.size());
    writer.Put(bytes);
  }
}

uint64_t Fold(uint64_t before, uint64_t element) {
  const uint64_t pair[2] = {before, element};
  return XXH3_64bits(pair, sizeof(pair));
}

// Returns the encoded bytes of a row if all rows have the same size, else 0.
size_t FixedRowBytes(const Chunk& chunk) {
  size_t bytes = 0;
  for (const Column& column : chunk.columns) {
    if (column.dtype == DType::kBytes || column.ragged()) return 0;
    bytes +=
        static_cast<size_t>(NumItems(column.shape)) * ItemSize(column.dtype);
  }
  return bytes < kStreamFrom ? bytes : 0;
}

}  // namespace

// Rows of one size differ in their values only. Everything else is written
// once, so a row costs a copy of its values and two hashes.
void OrderHash::AddFixed(const Chunk& chunk, size_t begin, size_t end) {
  struct Values {
    const char* values;
    size_t size;
    size_t at;  // in scratch_
  };
  std::vector<Values> columns;
  scratch_.clear();
  for (size_t c = 0; c < chunk.columns.size(); ++c) {
    const Column& column = chunk.columns[c];
    PutHead(scratch_, chunk.spec->components[c], column);
    for (int64_t dim : column.shape) {
      PutU64(scratch_, static_cast<uint64_t>(dim));
    }
    const size_t size = RowValues(column, 0).size();
    columns.push_back({reinterpret_cast<const char*>(column.values.data()),
                       size, scratch_.size()});
    scratch_.append(size, '\0');
  }
  for (size_t row = begin; row < end; ++row) {
    for (const Values& each : columns) {
      if (each.size > 0) {
        __builtin_memcpy(scratch_.data() + each.at,
                         each.values + row * each.size, each.size);
      }
    }
    value_ = Fold(value_, XXH3_64bits(scratch_.data(), scratch_.size()));
  }
}

void OrderHash::Add(const Chunk& chunk, size_t begin, size_t end) {
  FM_CHECK(begin <= end && end <= chunk.rows);
  if (begin == end) return;
  if (FixedRowBytes(chunk) > 0) return AddFixed(chunk, begin, end);
  ElementText writer(scratch_);
  for (size_t row = begin; row < end; ++row) {
    writer.Begin();
    for (size_t c = 0; c < chunk.columns.size(); ++c) {
      PutRow(writer, chunk.spec->components[c], chunk.columns[c], row);
    }
    value_ = Fold(value_, writer.End());
  }
}

std::string OrderHash::Hex() const { return fmt::format("{:016x}", value_); }

}  // namespace feedmill
