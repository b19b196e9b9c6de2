// Lines of JSON objects, and inference of their fields.

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/json_scanner.h"
#include "core/sources/line_framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

using Kind = JsonToken::Kind;

absl::Status NoObject() {
  return DataLoss(
      "the record is no JSON object; a jsonl has one on each line, as `jq -c` "
      "writes them (`jq -c '.[]'` those of an array)");
}

constexpr std::string_view kOneEachLine =
    "a jsonl has one object on each line, as `jq -c` writes them";

// Returns the error of a scanner that failed within an object.
absl::Status WrongObject(JsonScanner& scanner) {
  absl::Status wrong = scanner.Wrong();
  if (!scanner.AtEnd()) return wrong;
  return DataLoss("{}; the line ends within the object: {}", ErrorText(wrong),
                  kOneEachLine);
}

class JsonDecoder final : public RecordDecoder {
 public:
  JsonDecoder(std::vector<SourceField> fields, const JsonlSource& source)
      : RecordDecoder(std::move(fields)),
        encoding_(source.encoding),
        exact_integers_(source.exact_integers) {}

  absl::Status Decode(const Head&, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    Row row;
    row.values.resize(fields_.size());
    std::string converted;
    for (const Extent& record : records) {
      std::string_view text = window.substr(record.begin, record.size);
      if (encoding_ == TextEncoding::kLatin1) {
        text = Latin1ToUtf8(text, converted);
      }
      FM_RETURN_IF_ERROR(Find(text, row));
      if (has_nulls_) {
        FM_RETURN_IF_ERROR(AppendNullable(row, out));
      } else {
        for (size_t f = 0; f < fields_.size(); ++f) {
          FM_RETURN_IF_ERROR(
              Append(fields_[f], row.values[f], row.text, out.columns[f]));
        }
      }
      ++out.rows;
    }
    return absl::OkStatus();
  }

 private:
  struct Row {
    std::vector<JsonToken> values;  // by field; kNull if absent
    std::string text;               // unescaped string
  };

  // Appends a row of fields of which some may be null.
  [[gnu::noinline]] absl::Status AppendNullable(Row& row,
                                                RecordBlock& out) const {
    for (size_t f = 0; f < fields_.size(); ++f) {
      const size_t value = f;
      if (nullable_[f]) ++f;  // its validity has no value in the record
      if (f > value && row.values[value].kind == Kind::kNull) {
        AppendNull(fields_[value].dtype, out.columns[value], out.columns[f]);
        continue;
      }
      FM_RETURN_IF_ERROR(Append(fields_[value], row.values[value], row.text,
                                out.columns[value]));
      if (f > value) AppendValid(out.columns[f]);
    }
    return absl::OkStatus();
  }

  // Finds the fields of one object. If a name is repeated, the last member
  // counts.
  absl::Status Find(std::string_view record, Row& row) const {
    std::fill(row.values.begin(), row.values.end(), JsonToken{});
    JsonScanner scanner(record);
    if (!scanner.Enter('{')) return NoObject();
    size_t next = 0;  // members are mostly in the order of the fields
    JsonToken key, value;
    while (scanner.NextItem('}')) {
      if (!scanner.Key(key) || !scanner.Scan(value, 0)) break;
      std::string_view name = key.text;
      if (key.escaped) {
        FM_RETURN_IF_ERROR(UnescapeJson(key.text, row.text));
        name = row.text;
      }
      for (size_t k = 0; k < fields_.size(); ++k) {
        const size_t f =
            next + k < fields_.size() ? next + k : next + k - fields_.size();
        if (fields_[f].name != name) continue;
        row.values[f] = value;
        next = f + 1 < fields_.size() ? f + 1 : 0;
        break;
      }
    }
    if (scanner.failed()) return WrongObject(scanner);
    if (!scanner.AtEnd()) {
      return DataLoss("text after the JSON object; {}", kOneEachLine);
    }
    return absl::OkStatus();
  }

  // `number`: the text of a number that is an item of the field, else "".
  absl::Status Misfit(const SourceField& field, const JsonToken& value,
                      std::string_view number = "") const {
    return DataLoss("the field \"{}\" is {}{}, not {}{}; {}", Shown(field.name),
                    value.kind == Kind::kString ? "the string " : "",
                    Shown(value.text), TypeName(field.dtype, field.logical),
                    ShapeToString(field.shape),
                    HowToTake(fields_, IndexOf(field), number));
  }

  // Appends one item, or the stand-in for null.
  absl::Status AppendItem(const SourceField& field, const JsonToken& value,
                          std::string& text, OutputColumn& column) const {
    if (field.dtype == DType::kBytes) {
      std::string_view bytes = value.text;
      if (value.escaped) {
        FM_RETURN_IF_ERROR(UnescapeJson(value.text, text));
        bytes = text;
      }
      if (value.kind != Kind::kNull) {
        column.values.Append(bytes.data(), bytes.size());
      }
      column.offsets.Push(static_cast<int64_t>(column.values.size()));
      return absl::OkStatus();
    }
    bool good = false;
    switch (value.kind) {
      case Kind::kNull:
        if (AppendMissing(field.dtype, column.values)) return absl::OkStatus();
        return DataLoss(
            "the field \"{}\" is null or missing, which {} cannot be; {}",
            Shown(field.name), DTypeName(field.dtype), HowToTakeNulls(field));
      case Kind::kTrue:
      case Kind::kFalse:
        good = field.dtype == DType::kBool &&
               AppendNumber(value.text, DType::kBool, column.values);
        break;
      case Kind::kNumber:
        if (AppendPlainNumber(value.text, field.dtype, column.values)) {
          return absl::OkStatus();
        }
        if (exact_integers_ && !FloatKeepsInteger(value.text, field.dtype)) {
          return IntegerNotKept(
              fmt::format("the field \"{}\"", Shown(field.name)), value.text,
              field.dtype);
        }
        good = field.dtype != DType::kBool &&
               AppendNumber(value.text, field.dtype, column.values);
        break;
      case Kind::kString:  // floats as feedmill writes them
        if (field.logical != LogicalType::kNone) {
          return AppendTime(value.text, field.logical, column.values)
                     ? absl::OkStatus()
                     : NoTime(field.name, value.text, field.logical);
        }
        good = IsFloat(field.dtype) &&
               (value.text == "NaN" || value.text == "Infinity" ||
                value.text == "-Infinity") &&
               AppendNumber(value.text, field.dtype, column.values);
        break;
      case Kind::kArray:
      case Kind::kObject:
        break;
    }
    if (good) return absl::OkStatus();
    return Misfit(field, value, value.kind == Kind::kNumber ? value.text : "");
  }

  // Appends the items of an array below dimension `axis`. Counts the items of
  // the first dimension.
  absl::Status AppendArray(const SourceField& field, const JsonToken& value,
                           size_t axis, int64_t& count, std::string& text,
                           OutputColumn& column) const {
    if (value.kind != Kind::kArray) return Misfit(field, value);
    JsonScanner scanner(value.text);
    if (!scanner.Enter('[')) return Misfit(field, value);
    JsonToken item;
    int64_t below = 0;
    count = 0;
    while (scanner.NextItem(']') && scanner.Scan(item, 0)) {
      ++count;
      FM_RETURN_IF_ERROR(
          axis + 1 == field.shape.size()
              ? AppendItem(field, item, text, column)
              : AppendArray(field, item, axis + 1, below, text, column));
    }
    const int64_t wanted = field.shape[axis];
    if (wanted == kUnknownDim || wanted == count) return absl::OkStatus();
    return Misfit(field, value);
  }

  [[gnu::always_inline]] absl::Status Append(const SourceField& field,
                                             const JsonToken& value,
                                             std::string& text,
                                             OutputColumn& column) const {
    if (field.shape.empty()) return AppendItem(field, value, text, column);
    int64_t count = 0;
    const bool list = field.shape[0] == kUnknownDim;
    if (!list || value.kind != Kind::kNull) {  // null is an empty list
      FM_RETURN_IF_ERROR(AppendArray(field, value, 0, count, text, column));
    }
    if (list) {
      column.row_shapes.Push(count);
      column.row_starts.Push(
          column.row_starts
              .As<int64_t>()[column.row_starts.size() / sizeof(int64_t) - 1] +
          count);
    }
    return absl::OkStatus();
  }

  const TextEncoding encoding_;
  const bool exact_integers_;
};

// Properties of a field, after the records seen so far.
struct MemberGuess {
  std::string name;
  std::string first_file;
  bool missing = false, list = false, scalar = false;
  bool boolean = false, number = false, gap = false, other = false;
  NumberGuess numbers{};
  // The first value that makes the field non-numeric, and its place.
  std::string first_other{};
  std::string file{};
  size_t record = 0;

  void NoteOther(const JsonToken& value, const FileSample& sample, size_t at) {
    const bool fits = value.kind == Kind::kNull || value.kind == Kind::kNumber;
    if (!file.empty() ||
        (fits && numbers.Result(gap || missing) != DType::kBytes)) {
      return;
    }
    first_other = value.kind == Kind::kTrue    ? "true"
                  : value.kind == Kind::kFalse ? "false"
                                               : std::string(value.text);
    file = sample.file;
    record = at;
  }
  void AddScalar(const JsonToken& value, const FileSample& sample, size_t at) {
    switch (value.kind) {
      case Kind::kNull:
        missing = true;
        break;
      case Kind::kTrue:
      case Kind::kFalse:
        boolean = true;
        break;
      case Kind::kNumber:
        number = numbers.Add(value.text) || number;
        break;
      default:
        other = true;
    }
    NoteOther(value, sample, at);
  }
  void Add(const JsonToken& value, const FileSample& sample, size_t at) {
    if (value.kind != Kind::kArray) {
      scalar = scalar || value.kind != Kind::kNull;
      AddScalar(value, sample, at);
      return;
    }
    list = true;
    JsonScanner scanner(value.text);
    JsonToken item;
    scanner.Enter('[');
    while (scanner.NextItem(']') && scanner.Scan(item, 0)) {
      if (item.kind == Kind::kArray || item.kind == Kind::kObject) {
        scalar = true;  // not a list of single values
      }
      gap = gap || item.kind == Kind::kNull;
      AddScalar(item, sample, at);
    }
  }
  SourceField Result() const {
    const bool mixed =
        other || (boolean && (number || gap)) || (list && scalar);
    SourceField field{name, DType::kBytes, {}};
    if (list && !scalar) field.shape = {kUnknownDim};
    const DType of_numbers = numbers.Result(gap || (missing && !list));
    if (number && !file.empty() && (mixed || of_numbers == DType::kBytes)) {
      field.why_bytes = WhyBytes(file, record, first_other, of_numbers);
    }
    if (!mixed && boolean && !missing) {
      field.dtype = DType::kBool;
    } else if (!mixed && number) {
      field.dtype = of_numbers;
    } else if (!mixed && gap) {
      field.dtype = DType::kFloat64;
    }
    if (field.dtype == DType::kBytes) field.logical = LogicalType::kString;
    return field;
  }
};

struct Guesses {
  std::vector<MemberGuess> guesses;
  std::vector<size_t> seen;  // number of records, by guess
  std::vector<size_t> last;  // the last record, by guess
  size_t records = 0;

  absl::Status Add(const FileSample& sample, size_t record) {
    JsonScanner scanner(sample.records[record]);
    if (!scanner.Enter('{')) return NoObject();
    ++records;
    JsonToken key, value;
    while (scanner.NextItem('}') && scanner.Key(key) &&
           scanner.Scan(value, 0)) {
      std::string name(key.text);
      if (key.escaped) FM_RETURN_IF_ERROR(UnescapeJson(key.text, name));
      auto found =
          std::find_if(guesses.begin(), guesses.end(),
                       [&](const MemberGuess& g) { return g.name == name; });
      if (found == guesses.end()) {
        found = guesses.insert(
            guesses.end(),
            MemberGuess{.name = name, .first_file = sample.file});
        seen.push_back(0);
        last.push_back(0);
      }
      found->Add(value, sample, record);
      // A name that is repeated in a record counts once.
      const auto g = static_cast<size_t>(found - guesses.begin());
      if (last[g] != records) ++seen[g];
      last[g] = records;
    }
    return scanner.failed() ? WrongObject(scanner) : absl::OkStatus();
  }
};

// Returns the fields of the undamaged records.
absl::StatusOr<std::vector<SourceField>> FieldsOfRecords(
    const std::vector<FileSample>& samples) {
  Guesses all;
  size_t good = 0;
  absl::Status bad;
  for (const FileSample& sample : samples) {
    for (size_t r = 0; r < sample.records.size(); ++r) {
      Guesses with = all;
      const absl::Status added = with.Add(sample, r);
      if (added.ok()) {
        all = std::move(with);
        ++good;
      } else if (bad.ok()) {
        bad = Annotate(added, fmt::format("{}: record {}", sample.file, r));
      }
    }
  }
  if (good == 0 && !bad.ok()) return bad;
  std::vector<SourceField> fields;
  for (size_t g = 0; g < all.guesses.size(); ++g) {
    const MemberGuess& guess = all.guesses[g];
    FM_RETURN_IF_ERROR(CheckFieldName(guess.name, guess.first_file));
    all.guesses[g].missing = all.guesses[g].missing || all.seen[g] < good;
    fields.push_back(all.guesses[g].Result());
  }
  return fields;
}

void ConvertLatin1(std::vector<FileSample>& samples) {
  std::string converted;
  for (FileSample& sample : samples) {
    for (std::string& record : sample.records) {
      record = std::string(Latin1ToUtf8(record, converted));
    }
  }
}

struct JsonlFormat {
  using Options = JsonlSource;
  static constexpr std::string_view kName = "jsonl";
  static constexpr std::array<std::string_view, 2> kEndings = {".jsonl",
                                                               ".ndjson"};
  static constexpr Description kDescription = {
      .summary = "Reads lines of one JSON object each, its members by name.",
      .yaml = R"(jsonl: houses.jsonl
jsonl: {files: "*.jsonl", fields: {rooms: int64, at: "float32[?, 3]"}})",
      .element = "the members of each line's object by name",
      .details =
          "Without `fields`, the types are found out from the first 1,000 "
          "lines or more and some of later files; `types` replace some of "
          "them.",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a line that does not fit `fields`.",
      .example = R"(
>>> next(fm.Dataset.jsonl("houses.jsonl").read())
{'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
)"};
  static constexpr size_t kSampledRecords = 1000;
  static constexpr bool kSamplesFurtherFiles = true;

  static FieldList Fields(JsonlSource& s) {
    return {FilesField(s.files),
            CompressionField(s.compression, s.files),
            WindowLogField(s.zstd_window_log),
            FieldsField(s.fields),
            TypesField(s.types),
            EncodingField(s.encoding),
            ExactIntegersField(s.exact_integers)};
  }
  static SourceProperties Properties(const JsonlSource& s) {
    const bool utf16 = s.encoding == TextEncoding::kUtf16;
    return {.positions = FilesIfCompressed(
                s.compression, s.files,
                utf16 ? Positions::kFiles : Positions::kBlocks),
            .utf16 = utf16};
  }
  static absl::StatusOr<ElementSpec> Output(const JsonlSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    return SpecOfFields(s.fields, FieldShapes::kLists, /*named=*/true,
                        /*defaults=*/false, /*nulls=*/true);
  }
  static std::shared_ptr<const Framing> MakeFraming(const JsonlSource&) {
    return std::make_shared<LineFraming>(LineFraming::Lines::kFilled);
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const JsonlSource& s, const std::vector<bool>& live) {
    return std::make_unique<JsonDecoder>(LiveFields(s.fields, live), s);
  }
  static absl::StatusOr<std::vector<SourceField>> InferFields(
      const JsonlSource& s, std::vector<FileSample> samples) {
    if (s.encoding == TextEncoding::kLatin1) ConvertLatin1(samples);
    auto fields = FieldsOfRecords(samples);
    if (!fields.ok()) return fields;
    if (fields->size() == 1 && fields->front().name.empty()) {
      return InvalidArgument(
          "{}: the name of its only field is \"\", so no step can name it; "
          "rename it",
          samples[0].file);
    }
    if (!fields->empty()) return fields;
    return InvalidArgument("{}: no record says which fields there are",
                           samples[0].file);
  }
};

}  // namespace

const SourceKind& JsonlKind() { return FileKindOf<JsonlFormat>(); }

}  // namespace feedmill
