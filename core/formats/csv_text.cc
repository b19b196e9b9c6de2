#include "core/formats/csv_text.h"

#include <algorithm>
#include <utility>

#include "core/base/utf8.h"

namespace feedmill {

absl::StatusOr<std::vector<std::string>> ColumnNames(const CsvSource& source,
                                                     std::string_view header) {
  std::vector<std::string> names;
  std::string scratch;
  std::string converted;
  if (source.encoding == TextEncoding::kLatin1) {
    header = Latin1ToUtf8(header, converted);
  }
  const auto take = [&](size_t, std::string_view text) {
    names.emplace_back(text);
    return absl::OkStatus();
  };
  FM_RETURN_IF_ERROR(
      ForEachFieldOf(source, header, true, scratch, take).status());
  for (size_t c = 0; c < names.size(); ++c) {
    if (names[c].empty()) names[c] = fmt::format("f{}", c);
  }
  return names;
}

bool MakePlainNumber(std::string_view text, const CsvSource& source,
                     std::string& number) {
  number = text;
  if (text.find_first_of("0123456789") == text.npos) return true;
  number.clear();
  const std::string& thousands = source.thousands;
  bool grouped = false;
  bool whole = true;  // in front of the decimals and the exponent
  size_t digits = 0;  // since the last mark of thousands
  const auto is_group = [&] {
    return grouped ? digits == 3 : digits > 0 && digits <= 3;
  };
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    const bool decimal = c == source.decimal[0];
    if (whole && !thousands.empty() && text.substr(k).starts_with(thousands)) {
      if (!is_group()) return false;
      grouped = true;
      digits = 0;
      k += thousands.size() - 1;
      continue;
    }
    if (decimal || c == 'e' || c == 'E') {
      if ((decimal && !whole) || (grouped && whole && digits != 3))
        return false;
      whole = false;
    } else if (c == '.') {
      return false;
    }
    digits += c >= '0' && c <= '9' ? 1 : 0;
    number += decimal ? '.' : c;
  }
  return !grouped || !whole || digits == 3;
}

absl::StatusOr<std::vector<ColumnRun>> ColumnRuns(const CsvSource& source) {
  std::vector<ColumnRun> runs;
  for (const std::string& text : source.vectors) {
    const size_t equals = text.find('=');
    const size_t dots = text.find("..", equals == text.npos ? 0 : equals);
    ColumnRun run;
    if (equals != text.npos && dots != text.npos) {
      run = {text.substr(0, equals), text.substr(equals + 1, dots - equals - 1),
             text.substr(dots + 2)};
    }
    if (run.name.empty() || run.first.empty() || run.last.empty()) {
      return InvalidArgument(
          "vectors: \"{}\" is not like \"pixels=p0..p783\": a component, and "
          "the first and the last of its columns",
          Shown(text));
    }
    if (std::ranges::find(runs, run.name, &ColumnRun::name) != runs.end()) {
      return InvalidArgument("vectors: \"{}\" is there twice", run.name);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

absl::StatusOr<RunPlace> PlaceOf(const ColumnRun& run,
                                 const std::vector<std::string>& names) {
  RunPlace place;
  for (const auto& [name, at] : {std::pair{&run.first, &place.first},
                                 std::pair{&run.last, &place.last}}) {
    const auto found = std::find(names.begin(), names.end(), *name);
    if (found == names.end()) {
      return DataLoss(
          "there is no column \"{}\", which \"{}\" of `vectors` names",
          Shown(*name), Shown(run.name));
    }
    *at = static_cast<size_t>(found - names.begin());
  }
  if (place.first <= place.last) return place;
  return DataLoss(
      "the column \"{}\" stands behind \"{}\", so \"{}\" of `vectors` "
      "has no columns",
      Shown(run.first), Shown(run.last), Shown(run.name));
}

}  // namespace feedmill
