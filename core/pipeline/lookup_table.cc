#include "core/pipeline/lookup_table.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/ops/row_items.h"
#include "core/ops/shown_text.h"
#include "core/sources/kept_values.h"
#include "core/sources/table_reader.h"

namespace feedmill {
namespace {

// Returns an integer's bits, with its sign.
uint64_t BitsAt(const Column& column, size_t row) {
  return VisitNumeric(column.dtype, [&](auto item) {
    std::memcpy(&item, column.values.data() + row * sizeof item, sizeof item);
    return static_cast<uint64_t>(item);
  });
}

std::string KeyText(const Column& column, size_t row) {
  if (column.dtype == DType::kBytes) {
    return fmt::format("\"{}\"",
                       ShownText(column.BytesAt(column.RowStart(row))));
  }
  const uint64_t bits = BitsAt(column, row);
  return IsSigned(column.dtype) ? fmt::format("{}", static_cast<int64_t>(bits))
                                : fmt::format("{}", bits);
}

bool IsTrue(const Argument& argument, size_t row) {
  return argument.column->values.As<uint8_t>()[RowOf(argument, row)] != 0;
}

int64_t RowAt(const Argument& rows, size_t k) {
  return rows.column->values.As<int64_t>()[RowOf(rows, k)];
}

// Copies rows of `size` bytes; zeros for -1.
void CopyRows(const Column& from, const Argument& rows, size_t count,
              size_t size, OutputColumn& out) {
  auto* to = out.values.Extend(count * size);
  for (size_t k = 0; k < count; ++k, to += size) {
    const int64_t row = RowAt(rows, k);
    if (row < 0) {
      std::memset(to, 0, size);
    } else {
      std::memcpy(to, from.values.data() + static_cast<size_t>(row) * size,
                  size);
    }
  }
}

}  // namespace

// ---- the index

// Returns the bucket with the row for which same(row) is true, or a free one.
template <class Same>
size_t LookupTable::BucketOf(uint64_t hash, const Same& same) const {
  const size_t mask = buckets_.size() - 1;
  size_t bucket = hash & mask;
  while (buckets_[bucket] != 0 && !same(buckets_[bucket] - 1)) {
    bucket = (bucket + 1) & mask;
  }
  return bucket;
}

size_t LookupTable::Bucket(std::string_view key) const {
  return BucketOf(XXH3_64bits(key.data(), key.size()), [&](size_t row) {
    return keys().BytesAt(keys().RowStart(row)) == key;
  });
}

size_t LookupTable::Bucket(uint64_t key) const {
  return BucketOf(XXH3_64bits(&key, sizeof key),
                  [&](size_t row) { return BitsAt(keys(), row) == key; });
}

size_t LookupTable::Bucket(const Column& column, size_t row) const {
  return column.dtype == DType::kBytes
             ? Bucket(column.BytesAt(column.RowStart(row)))
             : Bucket(BitsAt(column, row));
}

int64_t LookupTable::Find(const Column& column, size_t row) const {
  if (column.dtype != DType::kBytes &&
      IsSigned(column.dtype) != IsSigned(keys().dtype)) {
    // The same bits are of two numbers if one is negative.
    if (static_cast<int64_t>(BitsAt(column, row)) < 0) return -1;
  }
  return int64_t{buckets_[Bucket(column, row)]} - 1;
}

int64_t LookupTable::Index(int64_t& earlier) {
  buckets_.resize(std::bit_ceil(rows_.rows * 2 + 1));
  const bool nullable = MayBeNull(std::span(spec().components), key_);
  for (size_t row = 0; row < rows_.rows; ++row) {
    if (nullable && rows_.columns[key_ + 1].values.As<uint8_t>()[row] == 0) {
      continue;
    }
    uint32_t& bucket = buckets_[Bucket(keys(), row)];
    if (bucket != 0) {
      earlier = int64_t{bucket} - 1;
      return static_cast<int64_t>(row);
    }
    bucket = static_cast<uint32_t>(row + 1);
  }
  return -1;
}

absl::StatusOr<std::shared_ptr<const LookupTable>> LookupTable::Read(
    const LookupStep& step, std::shared_ptr<const Manifest> manifest) {
  FM_ASSIGN_OR_RETURN(const LookupColumns columns, ColumnsOf(step));
  const std::shared_ptr<LookupTable> made(new LookupTable);
  made->name_ = TableText(step.table);
  made->key_ = columns.key;
  TableReader reader(step.table[0].source, columns.spec);
  auto rows = reader.Read(std::move(manifest), columns.live, kBytesMax);
  if (absl::IsResourceExhausted(rows.status())) {
    return InvalidArgument(
        "{}: {}, and a lookup keeps them in memory; name the ones that are "
        "needed with `columns`, or join the files before they are read",
        made->name_, ErrorText(rows.status()));
  }
  FM_RETURN_IF_ERROR(rows.status());
  made->rows_ = *std::move(rows);
  if (made->rows_.rows >= UINT32_MAX) {
    return InvalidArgument("{}: it has more than {} rows", made->name_,
                           UINT32_MAX - 1);
  }
  int64_t earlier = 0;
  const int64_t row = made->Index(earlier);
  if (row < 0) return std::shared_ptr<const LookupTable>(made);
  return InvalidArgument(
      "{}: its {} {} is that of {} again; each key must occur once",
      reader.NameOf(static_cast<size_t>(row)),
      columns.spec.components[columns.key].name,
      KeyText(made->keys(), static_cast<size_t>(row)),
      reader.NameOf(static_cast<size_t>(earlier)));
}

// ---- functions

absl::Status LookupTable::FindRows(std::span<const Argument> arguments,
                                   size_t count, bool required,
                                   OutputColumn& out) const {
  out.Reset(DType::kInt64, {});
  auto* const rows =
      reinterpret_cast<int64_t*>(out.values.Extend(count * sizeof(int64_t)));
  const Argument& key = arguments[0];
  for (size_t k = 0; k < count; ++k) {
    const bool null = arguments.size() > 1 && !IsTrue(arguments[1], k);
    rows[k] = null ? -1 : Find(*key.column, RowOf(key, k));
    if (rows[k] >= 0 || !required) continue;
    out.failed_row = k;
    return DataLoss(
        "{} has no row whose {} is {}; `unmatched: drop` or `unmatched: nulls` "
        "reads such elements",
        name_, spec().components[key_].name,
        null ? "null" : KeyText(*key.column, RowOf(key, k)));
  }
  return absl::OkStatus();
}

void LookupTable::Gather(size_t c, const Argument& rows, size_t count,
                         const ValueType& type, OutputColumn& out) const {
  const Column& from = rows_.columns[c];
  const bool any_shape = HasUnknownDim(type.shape);
  StartRows(type, any_shape, out);
  Shape none = type.shape;  // of an item that is missing
  std::ranges::replace(none, kUnknownDim, 0);
  const int64_t missing = Product(none);
  if (!any_shape && type.dtype != DType::kBytes && !from.ragged()) {
    CopyRows(from, rows, count,
             static_cast<size_t>(missing) * ItemSize(type.dtype), out);
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    const int64_t found = RowAt(rows, k);
    if (found >= 0) {
      const auto row = static_cast<size_t>(found);
      AppendItems(from, from.RowStart(row), from.RowItems(row), out);
      if (any_shape) EndRaggedRow(from.RowDims(row), out);
      continue;
    }
    for (int64_t item = 0; item < missing; ++item) {
      if (type.dtype == DType::kBytes) {
        out.offsets.Push(static_cast<int64_t>(out.values.size()));
      } else {
        std::memset(out.values.Extend(ItemSize(type.dtype)), 0,
                    ItemSize(type.dtype));
      }
    }
    if (any_shape) EndRaggedRow(none, out);
  }
}

namespace {

using Compute = decltype(FunctionRegistry::Function::compute);

constexpr std::string_view kRows = "rows";
constexpr std::string_view kRequired = "required rows";
constexpr std::string_view kFound = "found";

std::string ColumnFunction(std::string_view column) {
  return fmt::format("column {}", column);
}

Compute RowsOf(std::shared_ptr<const LookupTable> table, bool required) {
  return [table = std::move(table), required](
             std::span<const Argument> arguments, size_t rows, const ValueType&,
             OutputColumn& out) {
    return table->FindRows(arguments, rows, required, out);
  };
}

Compute Found() {
  return [](std::span<const Argument> arguments, size_t rows, const ValueType&,
            OutputColumn& out) {
    out.Reset(DType::kBool, {});
    for (size_t k = 0; k < rows; ++k) {
      out.values.Push(uint8_t{RowAt(arguments[0], k) >= 0});
    }
    return absl::OkStatus();
  };
}

Compute ItemsOf(std::shared_ptr<const LookupTable> table, size_t column) {
  return [table = std::move(table), column](std::span<const Argument> arguments,
                                            size_t rows, const ValueType& type,
                                            OutputColumn& out) {
    table->Gather(column, arguments[0], rows, type, out);
    return absl::OkStatus();
  };
}

absl::StatusOr<std::shared_ptr<const LookupTable>> KeptTable(
    const LookupStep& step, const Manifest& files) {
  static KeptValues<LookupTable> tables;
  return tables.Get(LookupName(step) + " " + files.Hash(), [&] {
    return LookupTable::Read(step, std::make_shared<const Manifest>(files));
  });
}

void Add(const LookupStep& step, std::shared_ptr<const LookupTable> table,
         FunctionRegistry& registry) {
  const std::string name = LookupName(step);
  const auto add = [&](std::string_view what, Compute compute) {
    FunctionRegistry::Function function;
    function.compute = std::move(compute);
    registry.Add(fmt::format("{}: {}", name, what), std::move(function));
  };
  add(kRows, RowsOf(table, false));
  add(kRequired, RowsOf(table, true));
  add(kFound, Found());
  for (size_t c = 0; c < table->spec().components.size(); ++c) {
    add(ColumnFunction(table->spec().components[c].name), ItemsOf(table, c));
  }
}

}  // namespace

absl::Status AddLookups(const AnalyzedGraph& graph, const Manifest* manifest,
                        FunctionRegistry& registry) {
  static const Manifest none;
  size_t next = graph.source.table == nullptr ? 0 : 1;
  for (size_t s = 0; s < graph.graph.steps.size(); ++s) {
    const auto* const lookup = graph.graph.steps[s].As<LookupStep>();
    if (lookup == nullptr) continue;
    const Manifest* files = &none;
    if (manifest != nullptr && next < manifest->tables.size()) {
      files = &manifest->tables[next++];
    } else if (graph.steps[s].table->source.needs_files) {
      return Internal("the manifest lacks {}", TableText(lookup->table));
    }
    FM_ASSIGN_OR_RETURN(auto table, KeptTable(*lookup, *files));
    Add(*lookup, std::move(table), registry);
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Manifest* const input =
        manifest == nullptr ? nullptr : &manifest->inputs.at(i);
    FM_RETURN_IF_ERROR(AddLookups(*graph.inputs[i], input, registry));
  }
  return absl::OkStatus();
}

LookupFunctions::LookupFunctions(const LookupStep& step,
                                 const FunctionRegistry& registry)
    : name_(LookupName(step)), registry_(registry) {}

const FunctionRegistry::Function& LookupFunctions::rows(bool required) const {
  return Function(required ? kRequired : kRows);
}

const FunctionRegistry::Function& LookupFunctions::found() const {
  return Function(kFound);
}

const FunctionRegistry::Function& LookupFunctions::column(
    std::string_view name) const {
  return Function(ColumnFunction(name));
}

const FunctionRegistry::Function& LookupFunctions::Function(
    std::string_view what) const {
  static const FunctionRegistry::Function unread = [] {
    FunctionRegistry::Function function;
    function.compute = [](auto, size_t, const auto&, auto&) {
      return Internal("the table of a lookup was not read");
    };
    return function;
  }();
  const auto* const found = registry_.Find(fmt::format("{}: {}", name_, what));
  return found == nullptr ? unread : *found;
}

}  // namespace feedmill
