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
  FM_RETURN_IF_ERROR(ForEachField(header, source.delimiter[0], source.multiline,
                                  true, scratch, take)
                         .status());
  for (size_t c = 0; c < names.size(); ++c) {
    if (names[c].empty()) names[c] = fmt::format("f{}", c);
  }
  return names;
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
