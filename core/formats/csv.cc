// CSV records, headers, and which fields they have.

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/kinds.h"
#include "core/sources/line_framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

// True if a carriage return stands before another character.
bool HasReturnInside(std::string_view text) {
  const size_t at = text.find('\r');
  return at != text.npos && text.find_first_not_of('\r', at) != text.npos;
}

// Calls take(column, text) for the fields of a record; a quoted one is
// unquoted into `scratch` where it must be. Quotes inside a field that does not
// begin with one are text, unless `strict`. `returns`: the record may have a
// carriage return, which is an error inside a field that is not quoted: a file
// whose lines end in it alone would be one record. Returns the number of
// fields, or what is wrong.
template <class Take>
absl::StatusOr<size_t> ForEachField(std::string_view record, char delimiter,
                                    bool strict, bool returns,
                                    std::string& scratch, Take&& take) {
  size_t at = 0;
  for (size_t column = 0;; ++column) {
    if (at < record.size() && record[at] == '"') {
      scratch.clear();
      size_t begin = at + 1;
      size_t quote = 0;
      while (true) {
        quote = record.find('"', begin);
        if (quote == std::string_view::npos) {
          return DataLoss(
              "the quote of column {} is not closed in its line (quoted line "
              "breaks need multiline: true)",
              column + 1);
        }
        if (quote + 1 == record.size() || record[quote + 1] != '"') break;
        scratch.append(record.substr(begin, quote + 1 - begin));
        begin = quote + 2;
      }
      std::string_view text = record.substr(begin, quote - begin);
      if (!scratch.empty()) {
        scratch.append(text);
        text = scratch;
      }
      at = quote + 1;
      if (at < record.size() && record[at] != delimiter) {
        return DataLoss("text after the closing quote of column {}",
                        column + 1);
      }
      FM_RETURN_IF_ERROR(take(column, text));
    } else {
      const void* found =
          std::memchr(record.data() + at, delimiter, record.size() - at);
      const size_t end =
          found == nullptr
              ? record.size()
              : static_cast<size_t>(static_cast<const char*>(found) -
                                    record.data());
      const std::string_view text = record.substr(at, end - at);
      if (strict && text.find('"') != std::string_view::npos) {
        return DataLoss("a quote inside column {}, which is not quoted",
                        column + 1);
      }
      if (returns && HasReturnInside(text)) [[unlikely]] {
        return DataLoss(
            "a carriage return inside column {}, which is not quoted; if lines "
            "end in \\r alone, convert the file to lines that end in \\n",
            column + 1);
      }
      FM_RETURN_IF_ERROR(take(column, text));
      at = end;
    }
    if (at == record.size()) return column + 1;
    ++at;  // the delimiter
  }
}

// The names of a header. A column without one is called after its place, "f0"
// the first, as in files without a header.
absl::StatusOr<std::vector<std::string>> Names(const CsvSource& source,
                                               std::string_view header) {
  std::vector<std::string> names;
  std::string scratch;
  const auto take = [&](size_t, std::string_view text) {
    names.emplace_back(text);
    return absl::OkStatus();
  };
  FM_RETURN_IF_ERROR(ForEachField(header, source.delimiter[0], source.multiline,
                                  true, scratch, take)
                         .status());
  for (size_t c = 0; c < names.size(); ++c) {
    if (names[c].empty()) names[c] = fmt::format("f{}", c);
  }
  return names;
}

class CsvDecoder final : public RecordDecoder {
 public:
  CsvDecoder(const CsvSource& source, const std::vector<bool>& live)
      : RecordDecoder(LiveFields(source.fields, live)),
        source_(source),
        only_empty_is_missing_(source.missing == std::vector<std::string>{""}) {
    int field = 0;
    for (size_t column = 0; column < source.fields.size(); ++column) {
      const bool made = live.empty() || live[column];
      in_order_.fields.push_back(made ? field++ : -1);
    }
  }

  absl::StatusOr<Head> ReadHead(std::string_view record) const override {
    FM_ASSIGN_OR_RETURN(const auto names, Names(source_, record));
    Head head;
    head.fields.assign(names.size(), -1);
    for (size_t f = 0; f < fields_.size(); ++f) {
      const auto found = std::find(names.begin(), names.end(), fields_[f].name);
      if (found == names.end()) {
        return DataLoss("the header has no column \"{}\"; it is {}",
                        Shown(fields_[f].name), Shown(record));
      }
      if (std::find(found + 1, names.end(), fields_[f].name) != names.end()) {
        return DataLoss("the header has the column \"{}\" twice",
                        Shown(fields_[f].name));
      }
      head.fields[static_cast<size_t>(found - names.begin())] =
          static_cast<int>(f);
    }
    return head;
  }

  absl::Status Decode(const Head& file_head, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    const Head& head = source_.header ? file_head : in_order_;
    std::string scratch;
    const bool returns =
        !records.empty() &&
        window.substr(records.front().begin, records.back().begin +
                                                 records.back().size -
                                                 records.front().begin)
                .find('\r') != std::string_view::npos;
    for (const Extent& record : records) {
      const std::string_view text = window.substr(record.begin, record.size);
      const auto take = [&](size_t column, std::string_view value) {
        if (column >= head.fields.size() || head.fields[column] < 0) {
          return absl::OkStatus();
        }
        const auto f = static_cast<size_t>(head.fields[column]);
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

 private:
  absl::Status Append(const SourceField& field, std::string_view text,
                      OutputColumn& column) const {
    if (field.dtype == DType::kBytes) {
      column.values.Append(text.data(), text.size());
      column.offsets.Push(static_cast<int64_t>(column.values.size()));
      return absl::OkStatus();
    }
    const std::string_view trimmed = TrimmedValue(text);
    if (IsMissing(trimmed)) {
      if (AppendMissing(field.dtype, column.values)) return absl::OkStatus();
      return DataLoss(
          "the column \"{}\" has no value, which {} cannot be; declare it as "
          "float64 (NaN) or bytes",
          Shown(field.name), DTypeName(field.dtype));
    }
    if (AppendNumber(trimmed, field.dtype, column.values)) {
      return absl::OkStatus();
    }
    return DataLoss(
        "the column \"{}\" is \"{}\", which is no {} (`fields` declares "
        "another type)",
        Shown(field.name), Shown(text), DTypeName(field.dtype));
  }
  bool IsMissing(std::string_view text) const {
    if (only_empty_is_missing_) return text.empty();
    return std::find(source_.missing.begin(), source_.missing.end(), text) !=
           source_.missing.end();
  }

  const CsvSource source_;
  const bool only_empty_is_missing_;
  Head in_order_;  // of files without headers
};

// What all values of a column seen so far could be.
struct ColumnGuess {
  NumberGuess numbers{};
  bool boolean = true;
  bool missing = false, any = false;
  // The first value after which the column is none of numbers, and its place.
  std::string other;
  std::string file;  // empty: there is none
  size_t record = 0;

  void Add(std::string_view text, bool is_missing, const FileSample& sample,
           size_t at) {
    // Words such as nan and infinity are floats only among numbers.
    const bool fits = is_missing || numbers.Add(text);
    missing = missing || is_missing;
    if (file.empty() && (!fits || numbers.Result(missing) == DType::kBytes)) {
      other = text;
      file = sample.file;
      record = at;
    }
    if (is_missing) return;
    any = true;
    BufferBuilder parsed;
    const bool digit = text.find_first_of("0123456789") != text.npos;
    boolean = boolean && !digit && AppendNumber(text, DType::kBool, parsed);
  }
  DType Result() const {
    if (!any) return DType::kBytes;
    if (numbers.all_numbers()) return numbers.Result(missing);
    return boolean && !missing ? DType::kBool : DType::kBytes;
  }
  SourceField Field(const std::string& name) const {
    SourceField field{name, Result(), {}};
    if (field.dtype == DType::kBytes && numbers.any()) {
      field.why_bytes = WhyBytes(file, record, other, numbers.Result(missing));
    }
    return field;
  }
};

// The columns of a CSV source, by name, after the records of some files.
class CsvFieldFinder {
 public:
  explicit CsvFieldFinder(const CsvSource& source) : source_(source) {}

  absl::Status Add(const FileSample& sample) {
    FM_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(sample));
    if (names_.empty()) {
      names_ = names;
      guesses_.resize(names.size());
    }
    std::vector<size_t> columns;  // of names_; their size for others
    for (const std::string& name : names) {
      columns.push_back(static_cast<size_t>(
          std::find(names_.begin(), names_.end(), name) - names_.begin()));
    }
    for (size_t r = 0; r < sample.records.size(); ++r) {
      AddRecord(sample, r, columns);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<SourceField>> Finish() const {
    if (good_ == 0 && !bad_.ok()) return bad_;
    std::vector<SourceField> fields;
    for (size_t c = 0; c < names_.size(); ++c) {
      fields.push_back(guesses_[c].Field(names_[c]));
    }
    return fields;
  }

 private:
  absl::StatusOr<std::vector<std::string>> NamesOf(
      const FileSample& sample) const {
    const bool header = source_.header;
    const std::string& first = header ? sample.header : sample.records[0];
    auto names = Names(source_, first);
    if (!names.ok()) return Annotate(names.status(), sample.file);
    for (size_t c = 0; c < names->size(); ++c) {
      std::string& name = (*names)[c];
      if (!header) {
        name = fmt::format("f{}", c);
        continue;
      }
      if (!IsUtf8(name)) {
        return InvalidArgument(
            "{}: the name of column {} in the header, \"{}\", is not UTF-8; "
            "convert the file, as with `iconv -f latin1 -t utf8`, or declare "
            "`fields`",
            sample.file, c + 1, Shown(name));
      }
      const auto twice = std::find(
          names->begin(), names->begin() + static_cast<ptrdiff_t>(c), name);
      if (twice != names->begin() + static_cast<ptrdiff_t>(c)) {
        return InvalidArgument(
            "{}: the columns {} and {} of the header are both called \"{}\"; "
            "rename one, or declare `fields` without it",
            sample.file, twice - names->begin() + 1, c + 1, Shown(name));
      }
    }
    return names;
  }

  void AddRecord(const FileSample& sample, size_t record,
                 const std::vector<size_t>& columns) {
    std::vector<ColumnGuess> with = guesses_;
    std::string scratch;
    const auto take = [&](size_t column, std::string_view text) {
      if (column >= columns.size() || columns[column] >= with.size()) {
        return absl::OkStatus();
      }
      const std::string_view trimmed = TrimmedValue(text);
      const std::vector<std::string>& missing = source_.missing;
      with[columns[column]].Add(
          trimmed,
          std::find(missing.begin(), missing.end(), trimmed) != missing.end(),
          sample, record);
      return absl::OkStatus();
    };
    const auto found =
        ForEachField(sample.records[record], source_.delimiter[0],
                     source_.multiline, true, scratch, take);
    if (found.ok() && *found == columns.size()) {
      guesses_ = std::move(with);
      ++good_;
    } else if (bad_.ok()) {
      bad_ = Annotate(found.ok() ? DataLoss("{} columns instead of {}", *found,
                                            columns.size())
                                 : found.status(),
                      fmt::format("{}: record {}", sample.file,
                                  record + (source_.header ? 1 : 0)));
    }
  }

  const CsvSource& source_;
  std::vector<std::string> names_;    // of the first file
  std::vector<ColumnGuess> guesses_;  // by name
  size_t good_ = 0;
  absl::Status bad_;
};

struct CsvFormat {
  using Options = CsvSource;
  static constexpr std::string_view kName = "csv";
  static constexpr std::string_view kSummary =
      "Reads records of comma-separated values, their columns by name.";
  static constexpr size_t kSampledRecords = 1000;

  static FieldList Fields(CsvSource& s) {
    return {FilesField(s.files),
            CompressionField(s.compression, s.files),
            FieldsField(s.fields),
            {"header", &s.header, Field::kOptional,
             "The first record of each file has the names; else they are f0, "
             "f1, …."},
            {"delimiter", &s.delimiter, Field::kOptional,
             "The byte between two values."},
            {"missing", &s.missing, Field::kOptional,
             "Texts that stand for no value."},
            {"multiline", &s.multiline, Field::kOptional,
             "Quoted values may hold line breaks."}};
  }
  static SourceProperties Properties(const CsvSource& s) {
    return {.positions = FilesIfCompressed(
                s.compression, s.files,
                s.multiline ? Positions::kFiles : Positions::kBlocks)};
  }
  static absl::StatusOr<ElementSpec> Output(const CsvSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression));
    if (s.delimiter.size() != 1 || s.delimiter == "\"" || s.delimiter == "\n" ||
        s.delimiter == "\r") {
      return InvalidArgument(
          "the delimiter must be one byte, and neither a quote nor a line "
          "break");
    }
    return SpecOfFields(s.fields, FieldShapes::kScalars);
  }
  static std::shared_ptr<const Framing> MakeFraming(const CsvSource& s) {
    return std::make_shared<LineFraming>(
        s.multiline ? LineFraming::Lines::kQuoted : LineFraming::Lines::kFilled,
        s.header);
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const CsvSource& s, const std::vector<bool>& live) {
    return std::make_unique<CsvDecoder>(s, live);
  }
  static absl::StatusOr<std::vector<SourceField>> InferFields(
      const CsvSource& source, const std::vector<FileSample>& samples) {
    if (source.delimiter.size() != 1) {
      return InvalidArgument("the delimiter must be one byte");
    }
    CsvFieldFinder finder(source);
    bool any = false;
    for (const FileSample& sample : samples) {
      if (source.header ? sample.header.empty() : sample.records.empty()) {
        continue;
      }
      any = true;
      FM_RETURN_IF_ERROR(finder.Add(sample));
    }
    if (!any) {
      return InvalidArgument("{}: there is no record in it",
                             samples.empty() ? "" : samples[0].file);
    }
    return finder.Finish();
  }
};

}  // namespace

const SourceKind& CsvKind() {
  static const FileSourceOf<CsvFormat> kind;
  return kind;
}

}  // namespace feedmill
