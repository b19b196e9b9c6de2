#ifndef FEEDMILL_CORE_FORMATS_TABLE_FOLDERS_H_
#define FEEDMILL_CORE_FORMATS_TABLE_FOLDERS_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/io/file_system.h"

namespace feedmill {

// The folder of a Delta, Iceberg, Hudi or Lance table also has files of earlier
// versions, with rows that were deleted or are elsewhere, too. Only the log of
// the table says which files count.
//
// Returns InvalidArgument, which names the table, if the files that a folder or
// a glob matches belong to a table. Files that are named one by one are
// accepted, and so are files of the log alone.
absl::Status RefuseTables(const std::string& pattern,
                          std::span<const FoundFile> found);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_TABLE_FOLDERS_H_
