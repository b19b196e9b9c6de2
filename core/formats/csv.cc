// CSV records and headers.

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/chunk/validity.h"
#include "core/formats/csv_text.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/sources/line_framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

class CsvDecoder final : public RecordDecoder {
 public:
  CsvDecoder(const CsvSource& source, const std::vector<bool>& live)
      : RecordDecoder(LiveFields(source.fields, live)),
        source_(source),
        only_empty_is_missing_(source.missing == std::vector<std::string>{""}),
        plain_numbers_(HasPlainNumbers(source)),
        plain_(plain_numbers_ && HasPlainQuotes(source)) {
    auto runs = ColumnRuns(source);  // checked by Output
    if (runs.ok()) runs_ = *std::move(runs);
    int field = 0;
    for (size_t k = 0; k < source.fields.size(); ++k) {
      const bool made = live.empty() || live[k];
      if (IsValidity(std::span(source.fields), k)) {
        if (made) ++field;
        continue;
      }
      const int64_t columns = RunOf(source.fields[k].name) == nullptr
                                  ? 1
                                  : source.fields[k].shape[0];
      in_order_.fields.insert(in_order_.fields.end(),
                              static_cast<size_t>(columns), made ? field : -1);
      if (made) ++field;
    }
  }

  absl::StatusOr<Head> ReadHead(std::string_view record) const override {
    FM_ASSIGN_OR_RETURN(const auto names, ColumnNames(source_, record));
    Head head;
    head.fields.assign(names.size(), -1);
    for (size_t f = 0; f < fields_.size(); ++f) {
      if (IsValidity(std::span(fields_), f)) continue;
      FM_ASSIGN_OR_RETURN(const RunPlace place,
                          ColumnsOf(fields_[f], names, record));
      for (size_t c = place.first; c <= place.last; ++c) {
        if (head.fields[c] >= 0) {
          return DataLoss("the column \"{}\" is part of two components",
                          Shown(names[c]));
        }
        head.fields[c] = static_cast<int>(f);
      }
    }
    return head;
  }

  absl::Status Decode(const Head& file_head, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    if (!plain_) return DecodeStyled(file_head, window, records, out);
    return has_nulls_ ? DecodeRecords<true>(file_head, window, records, out)
                      : DecodeRecords<false>(file_head, window, records, out);
  }

 private:
  // Not inlined: else one function would have both loops, and be slower.
  template <bool kHasNulls>
  [[gnu::noinline]] absl::Status DecodeRecords(const Head& file_head,
                                               std::string_view window,
                                               std::span<const Extent> records,
                                               RecordBlock& out) const {
    const Head& head = source_.header ? file_head : in_order_;
    std::string scratch;
    std::string converted;
    const bool returns =
        !records.empty() &&
        window.substr(records.front().begin, records.back().begin +
                                                 records.back().size -
                                                 records.front().begin)
                .find('\r') != std::string_view::npos;
    for (const Extent& record : records) {
      std::string_view text = window.substr(record.begin, record.size);
      if (source_.encoding == TextEncoding::kLatin1) {
        text = Latin1ToUtf8(text, converted);
      }
      const auto take = [&](size_t column, std::string_view value) {
        if (column >= head.fields.size() || head.fields[column] < 0) {
          return absl::OkStatus();
        }
        const auto f = static_cast<size_t>(head.fields[column]);
        if constexpr (kHasNulls) {
          if (AppendIfNull(f, value, out)) return absl::OkStatus();
        }
        return Append(fields_[f], value, out.columns[f]);
      };
      FM_ASSIGN_OR_RETURN(
          const size_t columns,
          ForEachField(text, source_.delimiter[0], source_.multiline, returns,
                       scratch, take));
      if (columns != head.fields.size()) {
        return DataLoss("{} columns instead of {}", columns,
                        head.fields.size());
      }
      ++out.rows;
    }
    return absl::OkStatus();
  }

  // Same, for other quotes and marks in numbers.
  [[gnu::noinline]] absl::Status DecodeStyled(const Head& file_head,
                                              std::string_view window,
                                              std::span<const Extent> records,
                                              RecordBlock& out) const {
    const Head& head = source_.header ? file_head : in_order_;
    std::string scratch;
    std::string converted;
    std::string number;
    const auto take = [&](size_t column, std::string_view value) {
      if (column >= head.fields.size() || head.fields[column] < 0) {
        return absl::OkStatus();
      }
      const auto f = static_cast<size_t>(head.fields[column]);
      if (has_nulls_ && AppendIfNull(f, value, out)) return absl::OkStatus();
      return AppendStyled(fields_[f], value, number, out.columns[f]);
    };
    for (const Extent& record : records) {
      std::string_view text = window.substr(record.begin, record.size);
      if (source_.encoding == TextEncoding::kLatin1) {
        text = Latin1ToUtf8(text, converted);
      }
      FM_ASSIGN_OR_RETURN(const size_t columns,
                          ForEachFieldOf(source_, text, true, scratch, take));
      if (columns != head.fields.size()) {
        return DataLoss("{} columns instead of {}", columns,
                        head.fields.size());
      }
      ++out.rows;
    }
    return absl::OkStatus();
  }

  const ColumnRun* RunOf(const std::string& name) const {
    const auto found = std::ranges::find(runs_, name, &ColumnRun::name);
    return found == runs_.end() ? nullptr : &*found;
  }

  // Returns the columns of a file that form a component.
  absl::StatusOr<RunPlace> ColumnsOf(const SourceField& field,
                                     const std::vector<std::string>& names,
                                     std::string_view header) const {
    if (const ColumnRun* const run = RunOf(field.name)) {
      FM_ASSIGN_OR_RETURN(const RunPlace place, PlaceOf(*run, names));
      const auto count = static_cast<int64_t>(place.last - place.first + 1);
      if (count == field.shape[0]) return place;
      return DataLoss("\"{}\" is {} columns, not {}", Shown(field.name), count,
                      field.shape[0]);
    }
    const auto found = std::find(names.begin(), names.end(), field.name);
    if (found == names.end()) {
      return DataLoss("the header has no column \"{}\"; it is {}",
                      Shown(field.name), Shown(header));
    }
    if (std::find(found + 1, names.end(), field.name) != names.end()) {
      return DataLoss("the header has the column \"{}\" twice",
                      Shown(field.name));
    }
    const auto at = static_cast<size_t>(found - names.begin());
    return RunPlace{at, at};
  }

  // Appends the validity of a field that may be null; if it is null, also its
  // value, and returns true.
  bool AppendIfNull(size_t f, std::string_view text, RecordBlock& out) const {
    if (!nullable_[f]) return false;
    if (!IsMissing(Trimmed(text))) {
      AppendValid(out.columns[f + 1]);
      return false;
    }
    AppendNull(fields_[f].dtype, out.columns[f], out.columns[f + 1]);
    return true;
  }

  absl::Status Append(const SourceField& field, std::string_view text,
                      OutputColumn& column) const {
    if (field.dtype == DType::kBytes) {
      column.values.Append(text.data(), text.size());
      column.offsets.Push(static_cast<int64_t>(column.values.size()));
      return absl::OkStatus();
    }
    const std::string_view trimmed = Trimmed(text);
    if (IsMissing(trimmed)) {
      if (AppendMissing(field.dtype, column.values)) return absl::OkStatus();
      return DataLoss("the column \"{}\" has no value, which {} cannot be; {}",
                      Shown(field.name), DTypeName(field.dtype),
                      HowToTakeNulls(field));
    }
    if (field.logical != LogicalType::kNone) {
      return AppendTime(trimmed, field.logical, column.values)
                 ? absl::OkStatus()
                 : NoTime(field.name, trimmed, field.logical);
    }
    if (AppendPlainNumber(trimmed, field.dtype, column.values)) {
      return absl::OkStatus();
    }
    if (source_.exact_integers && !FloatKeepsInteger(trimmed, field.dtype)) {
      return IntegerNotKept(fmt::format("the column \"{}\"", Shown(field.name)),
                            trimmed, field.dtype);
    }
    if (AppendNumber(trimmed, field.dtype, column.values)) {
      return absl::OkStatus();
    }
    return NoNumber(field, text);
  }
  absl::Status AppendStyled(const SourceField& field, std::string_view text,
                            std::string& number, OutputColumn& column) const {
    const std::string_view trimmed = Trimmed(text);
    const bool number_styled =
        field.dtype != DType::kBytes && field.logical == LogicalType::kNone;
    if (!number_styled || plain_numbers_ || IsMissing(trimmed)) {
      return Append(field, text, column);
    }
    if (MakePlainNumber(trimmed, source_, number)) {
      return Append(field, number, column);
    }
    return NoNumber(field, text);
  }
  absl::Status NoNumber(const SourceField& field, std::string_view text) const {
    return DataLoss("the column \"{}\" is \"{}\", which is no {}; {}",
                    Shown(field.name), Shown(text), DTypeName(field.dtype),
                    HowToTake(fields_, IndexOf(field), Trimmed(text)));
  }
  bool IsMissing(std::string_view text) const {
    if (only_empty_is_missing_) return text.empty();
    return std::find(source_.missing.begin(), source_.missing.end(), text) !=
           source_.missing.end();
  }

  const CsvSource source_;
  const bool only_empty_is_missing_;
  const bool plain_numbers_;
  const bool plain_;  // the numbers and the quotes
  std::vector<ColumnRun> runs_;
  Head in_order_;  // for files without headers
};

constexpr int64_t kSkippedRowsMax = 1'000'000;
constexpr int64_t kVectorColumnsMax = 1'000'000;

// Checks that the components of `vectors` are lists, and all other components
// single values.
absl::Status CheckVectors(const CsvSource& source) {
  FM_ASSIGN_OR_RETURN(const auto runs, ColumnRuns(source));
  size_t found = 0;
  for (const SourceField& field : source.fields) {
    const bool vector =
        std::ranges::find(runs, field.name, &ColumnRun::name) != runs.end();
    found += vector ? 1 : 0;
    const bool list = field.shape.size() == 1 && field.shape[0] > 0 &&
                      field.shape[0] <= kVectorColumnsMax;
    if (vector ? list : field.shape.empty()) continue;
    if (vector) {
      return InvalidArgument(
          "\"{}\" is a run of columns (`vectors`), so its type is like "
          "\"float32[784]\", not {}{}",
          field.name, DTypeName(field.dtype), ShapeToString(field.shape));
    }
    return InvalidArgument(
        "the shape {} of \"{}\" is impossible: a column has a single value "
        "(`vectors` make a component of several)",
        ShapeToString(field.shape), field.name);
  }
  if (found == runs.size() || source.fields.empty()) return absl::OkStatus();
  return InvalidArgument("a component of `vectors` is not among the `fields`");
}

// Checks the quotes, and the marks in numbers.
absl::Status CheckMarks(const CsvSource& s) {
  const auto one_byte = [&](std::string_view name, const std::string& mark) {
    const bool good = mark.size() == 1 && mark != s.delimiter &&
                      mark.find_first_of("\r\n") == mark.npos;
    if (good) return absl::OkStatus();
    return InvalidArgument(
        "{} must be one byte, and neither the delimiter nor a line break",
        name);
  };
  if (!s.quote.empty()) FM_RETURN_IF_ERROR(one_byte("quote", s.quote));
  if (!s.escape.empty()) FM_RETURN_IF_ERROR(one_byte("escape", s.escape));
  if (!s.escape.empty() && s.escape == s.quote) {
    return InvalidArgument(
        "escape is the quote: a doubled quote needs no escape, leave it out");
  }
  if (s.multiline && !HasPlainQuotes(s)) {
    return InvalidArgument(
        "multiline needs the quote \" and no escape: other quotes hold no line "
        "breaks");
  }
  constexpr std::string_view kOfNumbers = "0123456789+-eE";
  if (s.decimal.size() != 1 || kOfNumbers.find(s.decimal) != kOfNumbers.npos) {
    return InvalidArgument("decimal must be one byte, such as \",\"");
  }
  if (s.thousands == s.decimal ||
      s.thousands.find_first_of(kOfNumbers) != s.thousands.npos) {
    return InvalidArgument(
        "thousands must be another text than decimal (\"{}\"), without digits; "
        "write both: decimal: \",\", thousands: \".\"",
        s.decimal);
  }
  return absl::OkStatus();
}

// Checks the options that control how the text is split.
absl::Status CheckText(const CsvSource& s) {
  if (s.delimiter.size() != 1 || s.delimiter == s.quote ||
      s.delimiter == "\n" || s.delimiter == "\r") {
    return InvalidArgument(
        "the delimiter must be one byte, and neither a quote nor a line "
        "break");
  }
  FM_RETURN_IF_ERROR(CheckMarks(s));
  if (s.skip_rows < 0 || s.skip_rows > kSkippedRowsMax) {
    return InvalidArgument("skip_rows must be 0 to {}, it is {}",
                           kSkippedRowsMax, s.skip_rows);
  }
  if (s.comment.find_first_of("\r\n") != s.comment.npos) {
    return InvalidArgument("the comment has a line break");
  }
  return absl::OkStatus();
}

struct CsvFormat {
  using Options = CsvSource;
  static constexpr std::string_view kName = "csv";
  static constexpr std::array<std::string_view, 2> kEndings = {".csv", ".tsv"};
  static constexpr Description kDescription = {
      .summary =
          "Reads records of comma-separated values, their columns by name.",
      .yaml = R"(csv: houses.csv
csv: {files: "*.csv", fields: {rooms: int64}, delimiter: ";", missing: ["", NA]})",
      .element = "its columns by name",
      .details =
          "Without `fields`, the types are found out from the first 1,000 "
          "rows or more and some of later files; `types` replace some of them.",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a row that does not fit `fields`.",
      .example = R"(
>>> next(fm.Dataset.csv("houses.csv").read())
{'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
>>> fm.Dataset.csv("houses.csv", fields={"rooms": "int32"}).element_spec
{'rooms': ComponentSpec(dtype='int32', shape=())}
>>> fields = {"size": "float64[2]"}
>>> ds = fm.Dataset.csv("houses.csv", vectors={"size": ("rooms", "area")}, fields=fields)
>>> ds.element_spec
{'size': ComponentSpec(dtype='float64', shape=(2,))}
)"};
  static constexpr size_t kSampledRecords = 1000;
  static constexpr bool kSamplesFurtherFiles = true;

  static FieldList Fields(CsvSource& s) {
    return {
        FilesField(s.files),
        CompressionField(s.compression, s.files),
        WindowLogField(s.zstd_window_log),
        FieldsField(s.fields),
        TypesField(s.types),
        {"header", &s.header, Field::kOptional,
         "The first record of each file has the names; else they are f0, "
         "f1, …."},
        {"delimiter", &s.delimiter, Field::kOptional,
         "The byte between two values."},
        {"quote", &s.quote, Field::kSparse,
         "The byte around values that hold delimiters; an empty text: none."},
        {"escape", &s.escape, Field::kSparse,
         "The byte in front of a quote, a delimiter or another byte that "
         "stands for itself."},
        {"decimal", &s.decimal, Field::kSparse,
         "The mark of decimals in numbers."},
        {"thousands", &s.thousands, Field::kSparse,
         "The text between groups of three digits in numbers."},
        {"missing", &s.missing, Field::kOptional,
         "Texts that stand for no value."},
        {"multiline", &s.multiline, Field::kOptional,
         "Quoted values may hold line breaks."},
        EncodingField(s.encoding),
        {"comment", &s.comment, Field::kSparse,
         "Lines that begin with this text are passed over."},
        {"skip_rows", &s.skip_rows, Field::kSparse,
         "Lines to leave out at the beginning of each file, before the "
         "header; comments count."},
        {"vectors", &s.vectors, Field::kSparse,
         "Runs of columns, in the order of each file, that are one "
         "component, a list: \"pixels=p0..p783\". `fields` declare it as "
         "`pixels: \"float32[784]\"`."},
        ExactIntegersField(s.exact_integers)};
  }
  static SourceProperties Properties(const CsvSource& s) {
    const bool utf16 = s.encoding == TextEncoding::kUtf16;
    return {.positions = FilesIfCompressed(
                s.compression, s.files,
                s.multiline || utf16 ? Positions::kFiles : Positions::kBlocks),
            .utf16 = utf16};
  }
  static absl::StatusOr<ElementSpec> Output(const CsvSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    FM_RETURN_IF_ERROR(CheckText(s));
    FM_RETURN_IF_ERROR(CheckVectors(s));
    return SpecOfFields(
        s.fields,
        s.vectors.empty() ? FieldShapes::kScalars : FieldShapes::kStatic,
        /*named=*/true, /*defaults=*/false, /*nulls=*/true);
  }
  static std::shared_ptr<const Framing> MakeFraming(const CsvSource& s) {
    return std::make_shared<LineFraming>(
        s.multiline ? LineFraming::Lines::kQuoted : LineFraming::Lines::kFilled,
        LineFraming::Options{
            .first_is_header = s.header,
            .comment = s.comment,
            .skipped_lines = static_cast<uint64_t>(s.skip_rows)});
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const CsvSource& s, const std::vector<bool>& live) {
    return std::make_unique<CsvDecoder>(s, live);
  }
  static absl::StatusOr<std::vector<SourceField>> InferFields(
      const CsvSource& source, const std::vector<FileSample>& samples) {
    FM_RETURN_IF_ERROR(CheckText(source));
    return FindCsvFields(source, samples);
  }
};

}  // namespace

const SourceKind& CsvKind() { return FileKindOf<CsvFormat>(); }

}  // namespace feedmill
