#ifndef FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
#define FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/source_kind.h"
#include "feedmill/element_spec.h"
#include "feedmill/sources.h"

namespace feedmill {

// ---- fields that several formats have alike
Field FilesField(std::vector<std::string>& files);
Field CompressionField(Compression& compression,
                       const std::vector<std::string>& files);
Field FieldsField(std::vector<SourceField>& fields);

// Files in order where they are compressed, else `positions`.
Positions FilesIfCompressed(Compression compression,
                            const std::vector<std::string>& files,
                            Positions positions);

// Checks that there are files, that none has an empty name, and that all are
// compressed alike.
absl::Status CheckFiles(const std::vector<std::string>& files,
                        Compression compression = Compression::kNone);

// The shapes that fields of a format may have.
enum class FieldShapes {
  kScalars,
  kStatic,  // all dimensions known
  kLists,   // those and lists of an unknown length
};

// The element that has the fields as components. InvalidArgument for none, for
// those without a name if `named`, and for shapes that the format has not.
absl::StatusOr<ElementSpec> SpecOfFields(const std::vector<SourceField>& fields,
                                         FieldShapes shapes, bool named = true);

// The element of one component without a name.
ElementSpec UnnamedSpec(DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
