#include "core/formats/memory_table.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

constexpr size_t kInt = sizeof(int64_t);
constexpr int kPackingLevel = 1;

// The buffers of a column, in the order of the content.
constexpr std::array<Buffer Column::*, 4> kBuffers = {
    &Column::values, &Column::offsets, &Column::row_shapes,
    &Column::row_starts};

// ---- tables of this process

// Tables of one hash may live for different times.
class Tables {
 public:
  void Keep(const std::string& hash,
            const std::shared_ptr<const Chunk>& table) {
    const std::lock_guard lock(mutex_);
    std::erase_if(tables_,
                  [](const auto& one) { return one.second.expired(); });
    tables_.emplace(hash, table);
  }
  std::shared_ptr<const Chunk> Find(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = tables_.equal_range(hash);
    for (auto one = begin; one != end; ++one) {
      if (auto table = one->second.lock()) return table;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::multimap<std::string, std::weak_ptr<const Chunk>> tables_;
};

Tables& ProcessTables() {
  static Tables& all = *new Tables;
  return all;
}

// ---- content

// Returns `numbers` minus the first one. A view if that is 0.
Buffer FromZero(const Buffer& buffer, size_t first, size_t count) {
  Buffer view = buffer.Slice(first * kInt, count * kInt);
  const std::span<const int64_t> numbers = view.As<int64_t>();
  if (numbers.empty() || numbers[0] == 0) return view;
  BufferBuilder out(numbers.size_bytes());
  for (const int64_t number : numbers) out.Push(number - numbers[0]);
  return std::move(out).Freeze();
}

// Returns the column without items of other rows.
Column OnlyRows(const Column& from, size_t rows) {
  Column out{from.dtype, from.shape, {}, {}, {}, {}};
  const auto begin = static_cast<size_t>(from.RowStart(0));
  const size_t end = from.ragged() || rows > 0
                         ? static_cast<size_t>(from.RowStart(rows))
                         : begin;
  if (from.ragged()) {
    out.row_starts = FromZero(from.row_starts, 0, rows + 1);
    out.row_shapes = from.row_shapes.Slice(0, rows * from.shape.size() * kInt);
    // A shape without an unknown dimension would be of every row.
    if (std::ranges::count(out.shape, kUnknownDim) == 0) {
      out.shape.assign(from.shape.size(), kUnknownDim);
    }
  }
  size_t size = ItemSize(from.dtype);
  size_t first = begin;
  size_t last = end;
  if (from.dtype == DType::kBytes) {
    const std::span<const int64_t> offsets = from.offsets.As<int64_t>();
    size = 1;
    first = static_cast<size_t>(offsets[begin]);
    last = static_cast<size_t>(offsets[end]);
    out.offsets = FromZero(from.offsets, begin, end - begin + 1);
  }
  out.values = from.values.Slice(first * size, (last - first) * size);
  return out;
}

size_t BytesOf(const Chunk& table) {
  size_t bytes = 0;
  for (const Column& column : table.columns) {
    for (const auto buffer : kBuffers) bytes += (column.*buffer).size();
  }
  return bytes;
}

// Calls take(begin, size) for the parts of the content: for each buffer its
// size, then its bytes.
template <class Take>
void ForEachPart(const Chunk& table, const Take& take) {
  for (const Column& column : table.columns) {
    for (const auto buffer : kBuffers) {
      const uint64_t size = (column.*buffer).size();
      take(&size, sizeof size);
      if (size > 0) take((column.*buffer).data(), size);
    }
  }
}

std::string HashOf(const Chunk& table) {
  XXH3_state_t* const state = XXH3_createState();
  XXH3_128bits_reset(state);
  const std::string types =
      fmt::format("{} rows of {}", table.rows, table.spec->ToString());
  XXH3_128bits_update(state, types.data(), types.size());
  ForEachPart(table, [&](const void* begin, size_t size) {
    XXH3_128bits_update(state, begin, size);
  });
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

absl::StatusOr<std::string> Packed(const Chunk& table) {
  const size_t bytes = BytesOf(table);
  if (bytes > kCarriedTableBytesMax) {
    return FailedPrecondition(
        "a table in memory has {} bytes, and at most {} are sent to another "
        "process; write it to a file that all processes can open, such as "
        "Parquet, and read that",
        bytes, kCarriedTableBytesMax);
  }
  std::string content;
  content.reserve(bytes + table.columns.size() * kBuffers.size() * kInt);
  ForEachPart(table, [&](const void* begin, size_t size) {
    content.append(static_cast<const char*>(begin), size);
  });
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), content.data(),
                    content.size(), kPackingLevel);
  if (ZSTD_isError(size) != 0) {
    return Internal("zstd: {}", ZSTD_getErrorName(size));
  }
  packed.resize(size);
  return absl::Base64Escape(packed);
}

// Returns the content in `data`.
absl::StatusOr<std::string> Unpacked(const std::string& data) {
  std::string packed;
  if (!absl::Base64Unescape(data, &packed)) {
    return InvalidArgument("data is no Base64 text");
  }
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  // Sizes that zstd does not know are the largest numbers.
  if (size > kCarriedTableBytesMax + (size_t{1} << 20)) {
    return InvalidArgument("data is no table, or one of more than {} bytes",
                           kCarriedTableBytesMax);
  }
  std::string content(size, '\0');
  const size_t got = ZSTD_decompress(content.data(), content.size(),
                                     packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) {
    return InvalidArgument("data is damaged: its zstd frame is not whole");
  }
  return content;
}

// Takes the next buffer off `content`. False if it is not whole.
bool TakeBuffer(std::string_view& content, Buffer& buffer) {
  uint64_t size = 0;
  if (content.size() < sizeof size) return false;
  std::memcpy(&size, content.data(), sizeof size);
  content.remove_prefix(sizeof size);
  if (content.size() < size) return false;
  if (size > 0) {
    buffer = Buffer::CopyOf(std::as_bytes(std::span(content.data(), size)));
  }
  content.remove_prefix(size);
  return true;
}

absl::StatusOr<std::shared_ptr<const Chunk>> TableIn(
    const MemorySource& source) {
  FM_ASSIGN_OR_RETURN(const std::string text, Unpacked(source.data));
  auto table = std::make_shared<Chunk>();
  ElementSpec spec;
  std::string_view content = text;
  bool whole = true;
  for (const SourceField& field : source.fields) {
    spec.components.push_back(
        {field.name, field.dtype, field.shape, field.logical});
    Column& column = table->columns.emplace_back();
    column.dtype = field.dtype;
    column.shape = field.shape;
    for (const auto buffer : kBuffers) {
      whole = whole && TakeBuffer(content, column.*buffer);
    }
  }
  table->spec = std::make_shared<const ElementSpec>(std::move(spec));
  table->rows = static_cast<size_t>(source.rows);
  if (!whole || !content.empty() || !table->Validate().ok() ||
      HashOf(*table) != source.table) {
    return InvalidArgument("data is not the table {}", source.table);
  }
  return table;
}

absl::Status Carry(Graph& graph, size_t& bytes) {
  FM_RETURN_IF_ERROR(
      ChangeTables([&](Graph& table) { return Carry(table, bytes); }, graph));
  if (auto* const inputs = MutableSourceInputs(graph.source)) {
    for (Graph& input : *inputs) FM_RETURN_IF_ERROR(Carry(input, bytes));
  }
  const auto* const source = graph.source.As<MemorySource>();
  if (source == nullptr) return absl::OkStatus();
  if (source->data.empty()) {
    MemorySource carried = *source;
    FM_ASSIGN_OR_RETURN(const auto table, FindTable(carried));
    FM_ASSIGN_OR_RETURN(carried.data, Packed(*table));
    graph.source = Source(graph.source.kind(), std::move(carried));
  }
  bytes += graph.source.Get<MemorySource>().data.size();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemorySource> SourceOfTable(Chunk given) {
  FM_RETURN_IF_ERROR(given.Validate());
  auto table = std::make_shared<Chunk>();
  table->rows = given.rows;
  ElementSpec spec = *given.spec;
  MemorySource source;
  for (size_t c = 0; c < given.columns.size(); ++c) {
    const Column& column =
        table->columns.emplace_back(OnlyRows(given.columns[c], given.rows));
    ComponentSpec& component = spec.components[c];
    component.shape = column.shape;
    SourceField& field = source.fields.emplace_back();
    field.name = component.name;
    field.dtype = component.dtype;
    field.shape = component.shape;
    field.logical = component.logical;
  }
  table->spec = std::make_shared<const ElementSpec>(std::move(spec));
  source.rows = static_cast<int64_t>(table->rows);
  source.table = HashOf(*table);
  source.chunk = std::move(table);
  ProcessTables().Keep(source.table, source.chunk);
  return source;
}

absl::StatusOr<std::shared_ptr<const Chunk>> FindTable(
    const MemorySource& source) {
  std::shared_ptr<const Chunk> table = source.chunk;
  if (table == nullptr) table = ProcessTables().Find(source.table);
  if (table == nullptr && !source.data.empty()) {
    FM_ASSIGN_OR_RETURN(table, TableIn(source));
    ProcessTables().Keep(source.table, table);
  }
  if (table == nullptr) {
    return FailedPrecondition(
        "the table {} is not in this process; make the dataset of its arrays "
        "here, or write them to a file, such as Parquet, and read that",
        source.table);
  }
  bool same = table->rows == static_cast<size_t>(source.rows) &&
              table->columns.size() == source.fields.size();
  for (size_t c = 0; same && c < source.fields.size(); ++c) {
    const SourceField& field = source.fields[c];
    same = table->spec->components[c] ==
           ComponentSpec{field.name, field.dtype, field.shape};
  }
  if (same) return table;
  return InvalidArgument("the table {} has {} rows of {}", source.table,
                         table->rows, table->spec->ToString());
}

absl::Status CarryTables(Graph& graph, size_t bytes_max) {
  size_t bytes = 0;
  FM_RETURN_IF_ERROR(Carry(graph, bytes));
  if (bytes <= bytes_max) return absl::OkStatus();
  return FailedPrecondition(
      "the tables in memory have {} bytes, packed by zstd, and at most {} are "
      "sent to a service; write them to files that all workers can open, such "
      "as Parquet, and read those",
      bytes, bytes_max);
}

}  // namespace feedmill
