#ifndef FEEDMILL_CLIENT_PROFILE_TABLE_H_
#define FEEDMILL_CLIENT_PROFILE_TABLE_H_

#include <string>

#include "core/dataset/analysis.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

// The read that a profile describes.
struct ProfiledRead {
  const AnalyzedGraph& graph;
  // The elements were made in this process. Otherwise the workers' costs, from
  // their frames, come first.
  bool local = true;
  // Names the time between the reader's calls.
  std::string output = "printing";
  // The dispatcher's sentence; "": one of the same form is made from the
  // profile.
  std::string verdict{};
};

// Returns the text of `read --profile`: the verdict on the read, then a line
// for the source, for each step with a cost and for the rest, named as by
// --explain.
std::string ProfileTable(const ProfiledRead& read,
                         const ReadProfile::Sums& sums);

// Returns the same as JSON (reader.h).
std::string ProfileJson(const ProfiledRead& read,
                        const ReadProfile::Sums& sums);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_PROFILE_TABLE_H_
