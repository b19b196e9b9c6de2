#ifndef FEEDMILL_CORE_FORMATS_CSV_TEXT_H_
#define FEEDMILL_CORE_FORMATS_CSV_TEXT_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/sources/field_inference.h"
#include "core/sources/line_framing.h"
#include "core/sources/record_decoder.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// Returns the position of the first `delimiter` of `record` at or behind `at`,
// or its size. Most fields are shorter than a call of memchr is worth, so the
// first bytes are compared eight at a time.
inline size_t FieldEnd(std::string_view record, size_t at, char delimiter) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kTops = kOnes << 7;
  const uint64_t pattern = kOnes * static_cast<uint8_t>(delimiter);
  for (int k = 0; k < 2 && record.size() - at >= sizeof(uint64_t); ++k) {
    const uint64_t differs = LoadLittleEndian<uint64_t>(record, at) ^ pattern;
    // The lowest set bit is the top bit of the first byte that is 0.
    const uint64_t equal = (differs - kOnes) & ~differs & kTops;
    if (equal != 0)
      return at + static_cast<size_t>(std::countr_zero(equal)) / 8;
    at += sizeof(uint64_t);
  }
  if (record.size() - at >= sizeof(uint64_t)) {
    return std::min(record.find(delimiter, at), record.size());
  }
  while (at < record.size() && record[at] != delimiter) ++at;
  return at;
}

// Calls take(column, text) for the fields of a record. A quoted field with
// doubled quotes is unquoted into `scratch`. Returns the number of fields, or
// the error.
//
// - `strict`: a quote inside an unquoted field is an error; otherwise it is
//   text.
// - `returns`: the record may contain a carriage return. Inside an unquoted
//   field it is an error: a file whose lines end in \r alone would be one
//   record.
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
              "the quote of column {} is not closed in its row (without "
              "multiline: true, a row ends with its line)",
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
      const size_t end = FieldEnd(record, at, delimiter);
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

// Same, for any byte as `quote`, or none, and for escaped bytes, which stand
// for themselves within quotes and without. Copies each field into `scratch`.
template <class Take>
absl::StatusOr<size_t> ForEachStyledField(std::string_view record,
                                          const CsvSource& source, bool returns,
                                          std::string& scratch, Take&& take) {
  const auto is = [&](size_t at, const std::string& mark) {
    return at < record.size() && !mark.empty() && record[at] == mark[0];
  };
  size_t at = 0;
  for (size_t column = 0;; ++column) {
    scratch.clear();
    const bool quoted = is(at, source.quote);
    bool open = quoted;
    if (quoted) ++at;
    for (; at < record.size() && (open || !is(at, source.delimiter)); ++at) {
      if (is(at, source.escape) && at + 1 < record.size()) {
        ++at;
      } else if (open && is(at, source.quote)) {
        if (is(at + 1, source.quote)) {
          ++at;
        } else {
          open = false;
          continue;
        }
      } else if (quoted && !open) {
        return DataLoss("text after the closing quote of column {}",
                        column + 1);
      }
      scratch += record[at];
    }
    if (open) {
      return DataLoss("the quote of column {} is not closed in its row",
                      column + 1);
    }
    if (returns && !quoted && HasReturnInside(scratch)) {
      return DataLoss("a carriage return inside column {}, which is not quoted",
                      column + 1);
    }
    FM_RETURN_IF_ERROR(take(column, std::string_view(scratch)));
    if (at == record.size()) return column + 1;
    ++at;  // the delimiter
  }
}

// True if fields are quoted as RFC 4180 says.
inline bool HasPlainQuotes(const CsvSource& source) {
  return source.quote == "\"" && source.escape.empty();
}
// Calls ForEachField or ForEachStyledField.
template <class Take>
absl::StatusOr<size_t> ForEachFieldOf(const CsvSource& source,
                                      std::string_view record, bool returns,
                                      std::string& scratch, Take&& take) {
  if (!HasPlainQuotes(source)) {
    return ForEachStyledField(record, source, returns, scratch, take);
  }
  return ForEachField(record, source.delimiter[0], source.multiline, returns,
                      scratch, take);
}

// True if numbers are written with a point and without marks of thousands.
inline bool HasPlainNumbers(const CsvSource& source) {
  return source.decimal == "." && source.thousands.empty();
}
// Writes `text`, with the marks of the source, as a plain number: "1.234,5" →
// "1234.5". Returns false if the marks are not where numbers have them. A text
// without digits stays as it is.
bool MakePlainNumber(std::string_view text, const CsvSource& source,
                     std::string& number);

// A run of columns that becomes one component, such as "pixels=p0..p783".
struct ColumnRun {
  std::string name;   // component name
  std::string first;  // name of the first column
  std::string last;   // name of the last column
};
// Parses the runs of a source. InvalidArgument names a text that is no run.
absl::StatusOr<std::vector<ColumnRun>> ColumnRuns(const CsvSource& source);

// Returns the column names of a header. A column without a name is named by its
// position ("f0" for the first), as in files without a header.
absl::StatusOr<std::vector<std::string>> ColumnNames(const CsvSource& source,
                                                     std::string_view header);

// Positions of the first and the last column of a run among the columns of a
// file. PlaceOf returns DataLoss if one is missing, or if the last one is
// before the first.
struct RunPlace {
  size_t first = 0;
  size_t last = 0;
};
absl::StatusOr<RunPlace> PlaceOf(const ColumnRun& run,
                                 const std::vector<std::string>& names);

// Infers the components from the columns of samples. Errors name the file.
absl::StatusOr<std::vector<SourceField>> FindCsvFields(
    const CsvSource& source, const std::vector<FileSample>& samples);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_CSV_TEXT_H_
