#ifndef FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_
#define FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_

#include <string>

#include "core/dataset/analysis.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

// What `read --profile` prints: what bounds the read, then a line for the
// source, for each step that costs something and for the rest, as --explain
// names them. `local`: the elements were made in this process; else those of
// the workers, as far as their frames say, come first.
std::string ProfileTable(const AnalyzedGraph& graph,
                         const ReadProfile::Sums& sums, bool local);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_PROFILE_TABLE_H_
