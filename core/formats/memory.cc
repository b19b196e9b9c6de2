#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/memory_source.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/memory_table.h"
#include "core/sources/columnar_rows.h"

namespace feedmill {
namespace {

constexpr size_t kHashDigits = 32;

// True if rows are tensors that differ in more than their length.
bool IsIrregular(const SourceField& field) {
  return field.shape.size() > 1 && std::ranges::count(field.shape, kUnknownDim);
}

// True if all rows have the same number of bytes.
bool IsFixed(const SourceField& field) {
  return field.dtype != DType::kBytes &&
         !std::ranges::count(field.shape, kUnknownDim);
}

// The rows of a table. Adjacent rows are views of it.
class MemoryRecords final : public RecordSource {
 public:
  MemoryRecords(const Chunk& table, const std::vector<SourceField>& fields,
                const std::vector<bool>& live) {
    ElementSpec spec;
    for (size_t c = 0; c < fields.size(); ++c) {
      if (!live.empty() && !live[c]) continue;
      fields_.push_back(fields[c]);
      spec.components.push_back(table.spec->components[c]);
      table_.columns.push_back(table.columns[c]);
      group_.columns.push_back({table.columns[c]});
    }
    table_.spec = std::make_shared<const ElementSpec>(std::move(spec));
    table_.rows = table.rows;
    irregular_ = std::ranges::any_of(fields_, IsIrregular);
    fixed_ = std::ranges::all_of(fields_, IsFixed);
  }

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Runs>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    std::vector<ColumnarRun>& runs = static_cast<Runs&>(scratch).runs;
    runs.clear();
    out.error = absl::OkStatus();
    out.rows = 0;
    size_t left = bytes_max;
    for (const uint64_t index : indexes) {
      const auto row = static_cast<size_t>(index);
      const size_t bytes = table_.ElementBytes(row, row + 1);
      if (out.rows > 0 && bytes > left) break;
      left -= std::min(bytes, left);
      ++out.rows;
      if (!runs.empty() && runs.back().first + runs.back().count == row) {
        ++runs.back().count;
      } else {
        runs.push_back({&group_, row, 1});
      }
    }
    if (irregular_) {
      Gather(runs, out);
    } else {
      CopyRuns(runs, fields_, out.columns);
    }
    return out.rows;
  }

  // Views of numbers cost the same for any number of rows, others the copies of
  // their offsets.
  absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                 size_t bytes_max, Scratch&,
                                 RecordBlock& out) const override {
    const ColumnarRun run = {
        &group_, static_cast<size_t>(first),
        fixed_ ? static_cast<size_t>(count) : Fit(first, count, bytes_max)};
    out.error = absl::OkStatus();
    out.rows = run.count;
    if (irregular_) {
      Gather({&run, 1}, out);
      return out.rows;
    }
    out.columns.resize(fields_.size());
    std::vector<Column> views = ViewRun(run, fields_);
    for (size_t c = 0; c < views.size(); ++c) {
      out.columns[c].Show(std::move(views[c]), EncodedColumn::Memory::kMapped);
    }
    out.check_mapped = [] { return absl::OkStatus(); };
    return out.rows;
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return fmt::format("row {} of the table in memory", index);
  }

 private:
  struct Runs final : Scratch {
    std::vector<ColumnarRun> runs;
  };

  // Returns the number of rows from `first` on, of `count`, that take at most
  // `bytes_max`; at least 1.
  size_t Fit(uint64_t first, uint64_t count, size_t bytes_max) const {
    const auto begin = static_cast<size_t>(first);
    auto most = static_cast<size_t>(count);
    size_t fit = 1;
    while (fit < most) {
      const size_t middle = fit + (most - fit + 1) / 2;
      if (table_.ElementBytes(begin, begin + middle) <= bytes_max) {
        fit = middle;
      } else {
        most = middle - 1;
      }
    }
    return fit;
  }

  // Copies the rows of any shapes.
  void Gather(std::span<const ColumnarRun> runs, RecordBlock& out) const {
    ChunkBuilder rows(table_.spec, out.blocks());
    for (const ColumnarRun& run : runs) {
      for (size_t c = 0; c < table_.columns.size(); ++c) {
        rows.AppendRows(c, table_.columns[c], run.first, run.first + run.count);
      }
      rows.FinishRows(run.count);
    }
    out.Show(std::move(rows).Finish().columns);
  }

  std::vector<SourceField> fields_;  // the live ones
  Chunk table_;
  DecodedGroup group_;  // the same columns
  bool irregular_ = false;
  bool fixed_ = false;
};

struct MemoryFormat {
  using Options = MemorySource;
  static constexpr std::string_view kName = "memory";
  static constexpr Description kDescription = {
      .summary = "Reads the rows of a table in the memory of this process.",
      .yaml =
          "memory: {table: 0123456789abcdef0123456789abcdef, rows: 2, fields: "
          "{x: int64}}",
      .element = "these components",
      .details =
          "Python's `from_dict`, `from_numpy`, `from_list`, "
          "`from_tensor_slices`, `from_pandas` and `from_arrow` write it, and "
          "`Dataset::Memory` of C++."};

  static FieldList Fields(MemorySource& s) {
    return {{"table", &s.table, Field::kRequired,
             "The hash of the table's content."},
            {"rows", &s.rows, Field::kRequired, "Number of rows."},
            {"fields", DeclaredFields{&s.fields}, Field::kRequired,
             "The components and their types."},
            {"data", &s.data, Field::kSparse | Field::kUnidentified,
             "The content, packed by zstd, in Base64, for other processes."}};
  }
  static SourceProperties Properties(const MemorySource&) { return {}; }
  static std::string Describe(const MemorySource& s) {
    return fmt::format("{} rows in memory", s.rows);
  }
  static absl::StatusOr<ElementSpec> Output(const MemorySource& s,
                                            std::span<const ElementSpec>) {
    if (s.table.size() != kHashDigits) {
      return InvalidArgument("table is a hash of {} hex digits, not \"{}\"",
                             kHashDigits, Shown(s.table));
    }
    if (s.rows < 0) {
      return InvalidArgument("rows must not be negative, it is {}", s.rows);
    }
    return SpecOfFields(s.fields, FieldShapes::kAny, /*named=*/false,
                        /*defaults=*/false, /*nulls=*/true);
  }
  static std::optional<uint64_t> Size(const MemorySource& s) {
    return static_cast<uint64_t>(s.rows);
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const MemorySource& s, std::shared_ptr<const Manifest>,
      const std::vector<bool>& live) {
    FM_ASSIGN_OR_RETURN(const auto table, FindTable(s));
    return std::make_unique<MemoryRecords>(*table, s.fields, live);
  }
};

}  // namespace

const SourceKind& MemoryKind() { return FileKindOf<MemoryFormat>(); }

}  // namespace feedmill
