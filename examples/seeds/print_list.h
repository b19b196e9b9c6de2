#ifndef FEEDMILL_EXAMPLES_SEEDS_PRINT_LIST_H_
#define FEEDMILL_EXAMPLES_SEEDS_PRINT_LIST_H_

#include <cstdio>
#include <string>

#include "feedmill/reader.h"

// Prints a list like the pages' list(dataset.as_numpy_iterator()): "[0, 1, 2]".
// Returns false, with the error on stderr, if reading failed.
inline bool PrintList(
    absl::StatusOr<std::unique_ptr<feedmill::Reader>> reader) {
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", reader.status().ToString().c_str());
    return false;
  }
  std::string list;
  for (const feedmill::Element element : **reader) {
    if (!list.empty()) list += ", ";
    list += element.ToJson();
  }
  if (!(*reader)->status().ok()) {
    std::fprintf(stderr, "%s\n", (*reader)->status().ToString().c_str());
    return false;
  }
  std::printf("[%s]\n", list.c_str());
  return true;
}

#endif  // FEEDMILL_EXAMPLES_SEEDS_PRINT_LIST_H_
