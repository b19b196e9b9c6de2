#include "plugins/arrow/column_values.h"

#include <arrow/array/array_nested.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/column_items.h"
#include "plugins/arrow/nested_arrays.h"

namespace feedmill {
namespace {

using arrow::Type;

// Repeats each flag for the `each` items of a row.
NullMask Repeat(const NullMask& nulls, size_t each) {
  NullMask out;
  out.reserve(nulls.size() * each);
  for (const uint8_t null : nulls) out.insert(out.end(), each, null);
  return out;
}

// Returns the first fault of each row of `each` items.
std::vector<RowFault> FaultsOfRows(const std::vector<RowFault>& items,
                                   size_t each) {
  if (items.empty() || each == 1) return items;
  std::vector<RowFault> rows(items.size() / each);
  for (size_t k = 0; k < rows.size() * each; ++k) {
    if (rows[k / each] == RowFault::kNone) rows[k / each] = items[k];
  }
  return rows;
}

DecodedColumn MakeColumnOf(ColumnItems items, const SourceField& field,
                           size_t each) {
  DecodedColumn out;
  out.column.dtype = field.dtype;
  out.column.shape = field.shape;
  out.column.values = std::move(items.values);
  out.column.offsets = std::move(items.offsets);
  out.faults = FaultsOfRows(items.faults, each);
  return out;
}

// Descends to a member of nested structs, and joins the nulls on the way.
absl::Status Descend(const std::vector<int>& children,
                     std::shared_ptr<arrow::Array>& member, NullMask& nulls) {
  for (const int child : children) {
    FM_RETURN_IF_ARROW(member->Validate());
    nulls = JoinNulls(*member, nulls);
    member = WithoutExtension(
        static_cast<const arrow::StructArray&>(*member).field(child));
  }
  return absl::OkStatus();
}

// Returns the unit of a column's items; null: the file's.
const TimeType* TimeOf(const ColumnarColumn& wanted) {
  return wanted.times.empty() ? nullptr : wanted.times.data();
}

// Decodes lists of any length: rows are 1-D. `in_items`: the path to a member
// of the structs in the lists.
absl::StatusOr<DecodedColumn> DecodeLists(const arrow::Array& array,
                                          const NullMask& outside,
                                          const std::vector<int>& in_items,
                                          const ColumnarColumn& wanted) {
  const SourceField& field = wanted.field;
  const NullMask nulls = JoinNulls(array, outside);
  const std::shared_ptr<arrow::Array> values = ValuesOfList(array);
  FM_ASSIGN_OR_RETURN(const std::vector<ItemRange> ranges,
                      RangesOf(array, nulls, values->length()));
  int64_t begin = values->length();
  int64_t end = 0;
  for (const auto& [at, count] : ranges) {
    if (count == 0) continue;
    begin = std::min(begin, at);
    end = std::max(end, at + count);
  }
  begin = std::min(begin, end);
  auto sliced = WithoutExtension(values->Slice(begin, end - begin));
  NullMask sliced_nulls;
  FM_RETURN_IF_ERROR(Descend(in_items, sliced, sliced_nulls));
  FM_ASSIGN_OR_RETURN(
      const ColumnItems used,
      ItemsOfArray(*sliced, sliced_nulls, field.dtype, TimeOf(wanted)));
  std::vector<int64_t> starts(1, 0);
  std::vector<ItemRange> inside = ranges;
  bool in_order = true;
  for (auto& [at, count] : inside) {
    at = count == 0 ? starts.back() : at - begin;
    in_order = in_order && at == starts.back();
    starts.push_back(starts.back() + count);
  }
  ColumnItems items = in_order ? used : TakeRanges(used, inside, field.dtype);
  std::vector<RowFault> faults;
  for (size_t row = 0; row < ranges.size() && !items.faults.empty(); ++row) {
    faults.resize(ranges.size());
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
      faults[row] = std::max(faults[row], items.faults[static_cast<size_t>(k)]);
    }
  }
  items.faults.clear();
  DecodedColumn out = MakeColumnOf(std::move(items), field, 1);
  out.column.row_starts = BufferOf(std::move(starts));
  out.faults = std::move(faults);
  return out;
}

// Decodes single values, or lists of a fixed size.
absl::StatusOr<DecodedColumn> DecodeFixed(std::shared_ptr<arrow::Array> array,
                                          NullMask nulls,
                                          const ColumnarColumn& wanted) {
  size_t each = 1;
  while (array->type_id() == Type::FIXED_SIZE_LIST) {
    FM_RETURN_IF_ARROW(array->Validate());
    const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array);
    const int64_t size = lists.list_type()->list_size();
    nulls = Repeat(JoinNulls(*array, nulls), static_cast<size_t>(size));
    const int64_t begin = lists.value_offset(0);
    array =
        WithoutExtension(lists.values()->Slice(begin, lists.length() * size));
    each *= static_cast<size_t>(size);
  }
  FM_ASSIGN_OR_RETURN(
      ColumnItems items,
      ItemsOfArray(*array, nulls, wanted.field.dtype, TimeOf(wanted)));
  return MakeColumnOf(std::move(items), wanted.field,
                      std::max<size_t>(each, 1));
}

// Appends offsets or starts of a part, shifted behind the previous parts.
void AppendParts(std::vector<int64_t>& out, const Buffer& part, int64_t shift) {
  const auto from = part.As<int64_t>();
  for (size_t k = out.empty() ? 0 : 1; k < from.size(); ++k) {
    out.push_back(from[k] + shift);
  }
}

DecodedColumn JoinParts(const std::vector<DecodedColumn>& parts,
                        const std::vector<size_t>& rows) {
  DecodedColumn out;
  out.column.dtype = parts[0].column.dtype;
  out.column.shape = parts[0].column.shape;
  std::vector<std::byte> values;
  std::vector<int64_t> offsets;
  std::vector<int64_t> starts;
  size_t before = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    const Column& part = parts[p].column;
    std::span<const std::byte> bytes = part.values.span();
    if (part.offsets.size() > 0) {
      const auto ends = part.offsets.As<int64_t>();
      bytes = bytes.subspan(static_cast<size_t>(ends.front()),
                            static_cast<size_t>(ends.back() - ends.front()));
      AppendParts(offsets, part.offsets,
                  static_cast<int64_t>(values.size()) - ends.front());
    }
    values.insert(values.end(), bytes.begin(), bytes.end());
    if (part.row_starts.size() > 0) {
      AppendParts(starts, part.row_starts, starts.empty() ? 0 : starts.back());
    }
    if (!parts[p].faults.empty()) {
      out.faults.resize(before);
      out.faults.insert(out.faults.end(), parts[p].faults.begin(),
                        parts[p].faults.end());
    }
    before += rows[p];
  }
  if (!out.faults.empty()) out.faults.resize(before);
  out.column.values = BufferOf(std::move(values));
  if (!offsets.empty()) out.column.offsets = BufferOf(std::move(offsets));
  if (!starts.empty()) out.column.row_starts = BufferOf(std::move(starts));
  return out;
}

// Decodes a member of structs, or a column of its own.
absl::StatusOr<DecodedColumn> DecodeMember(std::shared_ptr<arrow::Array> member,
                                           NullMask nulls,
                                           const MemberPath& path,
                                           const ColumnarColumn& wanted) {
  const SourceField& field = wanted.field;
  if (field.shape.empty() && arrow::is_nested(member->type_id())) {
    FM_ASSIGN_OR_RETURN(ColumnItems texts,
                        JsonTexts(member, nulls, wanted.times));
    return MakeColumnOf(std::move(texts), field, 1);
  }
  const bool lists = field.shape.size() == 1 && field.shape[0] == kUnknownDim;
  if (!lists) return DecodeFixed(std::move(member), std::move(nulls), wanted);
  FM_RETURN_IF_ARROW(member->Validate());
  if (member->type_id() != Type::NA) {
    return DecodeLists(*member, nulls, path.in_items, wanted);
  }
  FM_ASSIGN_OR_RETURN(ColumnItems none,
                      ItemsOfArray(*member->Slice(0, 0), {}, field.dtype));
  DecodedColumn out = MakeColumnOf(std::move(none), field, 1);
  out.column.row_starts =
      BufferOf(std::vector<int64_t>(static_cast<size_t>(member->length()) + 1));
  return out;
}

// Makes all nulls of a column of single values faults, and their values 0.
void MarkNulls(const NullMask& nulls, DecodedColumn& column) {
  if (nulls.empty()) return;
  column.faults.resize(nulls.size());
  for (size_t k = 0; k < nulls.size(); ++k) {
    if (nulls[k] != 0) column.faults[k] = RowFault::kNull;
  }
  if (column.column.dtype == DType::kBytes) return;
  VisitNumeric(column.column.dtype, [&]<class T>(T) {
    const auto from = column.column.values.As<T>();
    std::vector<T> values(from.begin(), from.end());
    for (size_t k = 0; k < nulls.size(); ++k) {
      if (nulls[k] != 0) values[k] = T{};
    }
    column.column.values = BufferOf(std::move(values));
  });
}

}  // namespace

absl::StatusOr<DecodedColumn> DecodeArray(
    const std::shared_ptr<arrow::Array>& array, const MemberPath& path,
    const ColumnarColumn& wanted) {
  std::shared_ptr<arrow::Array> member = WithoutExtension(array);
  NullMask nulls;
  FM_RETURN_IF_ERROR(Descend(path.children, member, nulls));
  if (!wanted.nullable)
    return DecodeMember(std::move(member), nulls, path, wanted);
  const NullMask own = JoinNulls(*member, nulls);
  FM_ASSIGN_OR_RETURN(DecodedColumn out,
                      DecodeMember(std::move(member), nulls, path, wanted));
  MarkNulls(own, out);
  return out;
}

absl::StatusOr<DecodedColumn> DecodeChunks(const arrow::ChunkedArray& chunks,
                                           const MemberPath& path,
                                           const ColumnarColumn& wanted) {
  if (chunks.num_chunks() == 1) {
    return DecodeArray(chunks.chunk(0), path, wanted);
  }
  std::vector<DecodedColumn> parts;
  std::vector<size_t> rows;
  for (const auto& chunk : chunks.chunks()) {
    FM_ASSIGN_OR_RETURN(parts.emplace_back(), DecodeArray(chunk, path, wanted));
    rows.push_back(static_cast<size_t>(chunk->length()));
  }
  if (parts.empty()) return DataLoss("it has no values");
  return JoinParts(parts, rows);
}

}  // namespace feedmill
