// Inference of components from the columns of CSV files.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/ascii_text.h"
#include "core/base/data_warnings.h"
#include "core/base/utf8.h"
#include "core/formats/csv_text.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

// Delimiters other than a comma that people use, as YAML writes them.
constexpr std::array<std::pair<char, std::string_view>, 3> kOtherDelimiters = {
    {{';', ";"}, {'\t', "\\t"}, {'|', "|"}}};

// Possible types of a column, after the values seen so far.
struct ColumnGuess {
  NumberGuess numbers{};
  bool boolean = true;
  bool missing = false, any = false;
  // The first value that makes the column non-numeric, and its place.
  std::string other;
  std::string file;  // empty: no such value
  size_t record = 0;

  // `number`: the text as a plain number.
  void Add(std::string_view text, std::string_view number, bool is_missing,
           const FileSample& sample, size_t at) {
    // Words such as nan and infinity are floats only among numbers.
    const bool fits = is_missing || numbers.Add(number);
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
  SourceField Field(const std::string& name, const Shape& shape) const {
    SourceField field{name, Result(), shape};
    if (field.dtype == DType::kBytes) field.logical = LogicalType::kString;
    if (field.dtype == DType::kBytes && numbers.any()) {
      field.why_bytes = WhyBytes(file, record, other, numbers.Result(missing));
    }
    return field;
  }
};

// Collects the columns of a CSV source, by name, from the records of some
// files.
class CsvFieldFinder {
 public:
  CsvFieldFinder(const CsvSource& source, std::vector<ColumnRun> runs)
      : source_(source), runs_(std::move(runs)) {}

  absl::Status Add(const FileSample& sample) {
    FM_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(sample));
    if (names.size() == 1) NoteOtherDelimiter(sample);
    if (components_.empty()) {
      const absl::Status begun = Begin(names);
      if (!begun.ok()) return Annotate(begun, sample.file);
    }
    // Index in components_ by column; components_.size() if it has none.
    std::vector<size_t> columns;
    for (const std::string& name : names) {
      const auto found = component_of_.find(name);
      columns.push_back(found == component_of_.end() ? components_.size()
                                                     : found->second);
    }
    for (size_t r = 0; r < sample.records.size(); ++r) {
      AddRecord(sample, r, columns);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<SourceField>> Finish() const {
    if (good_ == 0 && !bad_.ok()) return bad_;
    std::vector<SourceField> fields;
    for (const Component& one : components_) {
      fields.push_back(one.guess.Field(one.name, one.shape));
    }
    return fields;
  }

 private:
  struct Component {
    std::string name;
    Shape shape;
    ColumnGuess guess{};
  };

  // Sets the components from the columns of the first file.
  absl::Status Begin(const std::vector<std::string>& names) {
    std::vector<const ColumnRun*> run_of(names.size(), nullptr);
    for (const ColumnRun& run : runs_) {
      FM_ASSIGN_OR_RETURN(const RunPlace place, PlaceOf(run, names));
      for (size_t c = place.first; c <= place.last; ++c) {
        if (run_of[c] != nullptr) {
          return InvalidArgument(
              "the column \"{}\" is part of two components of `vectors`",
              Shown(names[c]));
        }
        run_of[c] = &run;
      }
    }
    for (size_t c = 0; c < names.size(); ++c) {
      const ColumnRun* const run = run_of[c];
      if (run == nullptr) {
        components_.push_back({names[c], {}});
      } else if (c == 0 || run_of[c - 1] != run) {
        components_.push_back({run->name, {0}});
      }
      if (run != nullptr) ++components_.back().shape[0];
      component_of_.emplace(names[c], components_.size() - 1);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> NamesOf(
      const FileSample& sample) const {
    const bool header = source_.header;
    const std::string& first = header ? sample.header : sample.records[0];
    auto names = ColumnNames(source_, first);
    if (!names.ok()) return Annotate(names.status(), sample.file);
    std::map<std::string_view, size_t> place;
    for (size_t c = 0; c < names->size(); ++c) {
      std::string& name = (*names)[c];
      if (!header) {
        name = fmt::format("f{}", c);
        continue;
      }
      if (!IsUtf8(name)) {
        return InvalidArgument(
            "{}: the name of column {} in the header, \"{}\", is not UTF-8; "
            "write `encoding: latin-1` if it is that, convert the file, as "
            "with "
            "`iconv -f latin1 -t utf8`, or declare `fields`",
            sample.file, c + 1, Shown(name));
      }
      const auto [twice, added] = place.emplace(name, c);
      if (!added) {
        return InvalidArgument(
            "{}: the columns {} and {} of the header are both called \"{}\"; "
            "rename one, or declare `fields` without it",
            sample.file, twice->second + 1, c + 1, Shown(name));
      }
    }
    return names;
  }

  // Counts a data warning if all lines of a file of one column have the same
  // number of another usual delimiter.
  void NoteOtherDelimiter(const FileSample& sample) const {
    std::vector<std::string_view> lines(sample.records.begin(),
                                        sample.records.end());
    if (source_.header) lines.emplace_back(sample.header);
    if (lines.size() < 2) return;
    for (const auto& [mark, name] : kOtherDelimiters) {
      const auto marks = [&](std::string_view line) {
        return std::count(line.begin(), line.end(), mark);
      };
      const auto first = marks(lines.back());
      if (first == 0 ||
          !std::all_of(lines.begin(), lines.end(),
                       [&](auto line) { return marks(line) == first; })) {
        continue;
      }
      NoteDataWarning(
          DataWarning::kOneColumn,
          fmt::format("{}: it was read as one column, although each of its "
                      "first {} lines has \"{}\" {} time{}; if that separates "
                      "columns, write `delimiter: \"{}\"`",
                      sample.file, lines.size(), name, first,
                      first == 1 ? "" : "s", name));
      return;
    }
  }

  void AddRecord(const FileSample& sample, size_t record,
                 const std::vector<size_t>& columns) {
    const std::string_view text =
        source_.encoding == TextEncoding::kLatin1
            ? Latin1ToUtf8(sample.records[record], converted_)
            : sample.records[record];
    std::string scratch;
    const auto fields = [&](auto&& take) {
      return ForEachFieldOf(source_, text, true, scratch, take);
    };
    const auto found =
        fields([](size_t, std::string_view) { return absl::OkStatus(); });
    if (found.ok() && *found == columns.size()) {
      const absl::Status added =
          fields([&](size_t column, std::string_view value) {
            AddValue(value, sample, record, columns[column]);
            return absl::OkStatus();
          }).status();
      if (added.ok()) ++good_;
    } else if (bad_.ok()) {
      bad_ = Annotate(found.ok() ? DataLoss("{} columns instead of {}", *found,
                                            columns.size())
                                 : found.status(),
                      fmt::format("{}: record {}", sample.file,
                                  record + (source_.header ? 1 : 0)));
    }
  }

  void AddValue(std::string_view text, const FileSample& sample, size_t record,
                size_t component) {
    if (component >= components_.size()) return;
    const std::string_view trimmed = Trimmed(text);
    std::string_view number = trimmed;
    if (!HasPlainNumbers(source_)) {
      const bool fits = MakePlainNumber(trimmed, source_, number_);
      number = fits ? std::string_view(number_) : "no number";
    }
    const std::vector<std::string>& missing = source_.missing;
    components_[component].guess.Add(
        trimmed, number,
        std::find(missing.begin(), missing.end(), trimmed) != missing.end(),
        sample, record);
  }

  const CsvSource& source_;
  const std::vector<ColumnRun> runs_;
  std::vector<Component> components_;  // from the first file
  std::map<std::string, size_t, std::less<>> component_of_;  // by column
  std::string converted_;
  std::string number_;
  size_t good_ = 0;
  absl::Status bad_;
};

}  // namespace

absl::StatusOr<std::vector<SourceField>> FindCsvFields(
    const CsvSource& source, const std::vector<FileSample>& samples) {
  FM_ASSIGN_OR_RETURN(auto runs, ColumnRuns(source));
  CsvFieldFinder finder(source, std::move(runs));
  bool any = false;
  for (const FileSample& sample : samples) {
    if (source.header ? sample.header.empty() : sample.records.empty()) {
      continue;
    }
    const absl::Status added = finder.Add(sample);
    if (!sample.further) FM_RETURN_IF_ERROR(added);
    any = any || added.ok();
  }
  if (any) return finder.Finish();
  return InvalidArgument("{}: there is no record in it",
                         samples.empty() ? "" : samples[0].file);
}

}  // namespace feedmill
