#ifndef FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_
#define FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_

#include <string>

#include "core/dataset/analysis.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

// Returns the text of `read --profile`: the verdict on the read, then a line
// for the source, for each step with a cost and for the rest, named as by
// --explain. `local`: the elements were made in this process. Otherwise the
// workers' costs, from their frames, come first. `verdict`: the sentence of the
// dispatcher; "": one of the same form is made from the profile.
std::string ProfileTable(const AnalyzedGraph& graph,
                         const ReadProfile::Sums& sums, bool local,
                         const std::string& verdict = "");

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_
