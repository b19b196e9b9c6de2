#ifndef FEEDMILL_CORE_DEFINITION_SOURCE_BY_NAME_H_
#define FEEDMILL_CORE_DEFINITION_SOURCE_BY_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/dataset/source.h"
#include "core/dataset/source_kind.h"

namespace feedmill {

// Returns the kind of source whose files have such names; null if the name says
// nothing. The end of a compressed file's name is left out before: "a.csv.gz"
// is as "a.csv".
const SourceKind* KindByName(std::string_view name);

// Returns the source of the files that `name`, a path, a URL or a glob, names.
// InvalidArgument if the name does not say their kind.
absl::StatusOr<Source> SourceByName(const std::string& name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_SOURCE_BY_NAME_H_
