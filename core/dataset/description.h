#ifndef FEEDMILL_CORE_DATASET_DESCRIPTION_H_
#define FEEDMILL_CORE_DATASET_DESCRIPTION_H_

#include <string_view>

namespace feedmill {

// The description of a step or a source for users. It stands in the file of the
// step or source; its options are described by their fields (fields.h).
// `feedmill steps` prints both. tools/step_pages makes the tables of
// docs/steps.md and the methods of Python's Dataset from them.
struct Description {
  // One sentence, which stands in lists.
  std::string_view summary;
  // The step or source in YAML. Each line is a complete one:
  // "take: 5". docs/steps.md shows all lines.
  std::string_view yaml;
  // The elements that it makes, for the table of docs/steps.md: "unchanged".
  std::string_view element;
  // Further sentences, with names of options in `…`. Line breaks are spaces.
  std::string_view details{};
  // The errors of Python's method: "Reading raises DataLossError for …".
  std::string_view errors{};
  // An example of Python's method with its output, in the form of doctest,
  // without `import feedmill as fm`. "": the method is written by hand, in
  // python/feedmill/_methods_by_hand.py.
  std::string_view example{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_DESCRIPTION_H_
