#ifndef FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
#define FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/source_kind.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

namespace feedmill {

// ---- fields that several formats share
Field FilesField(std::vector<std::string>& files);
Field CompressionField(Compression& compression,
                       const std::vector<std::string>& files);
// The option zstd_window_log, which CheckFiles checks.
Field WindowLogField(int64_t& window_log);
Field EncodingField(TextEncoding& encoding);
Field ExactIntegersField(bool& exact_integers);
Field FieldsField(std::vector<SourceField>& fields);

// Returns kFiles (files in order) if the files are compressed, else
// `positions`.
Positions FilesIfCompressed(Compression compression,
                            const std::vector<std::string>& files,
                            Positions positions);

// Checks that the list is not empty, that no name is empty, that all files have
// the same compression, and that zstd accepts the window.
absl::Status CheckFiles(const std::vector<std::string>& files,
                        Compression compression = Compression::kNone,
                        int64_t zstd_window_log = 0);

// The shapes that fields of a format may have.
enum class FieldShapes {
  kScalars,
  kStatic,  // all dimensions known
  kLists,   // kStatic, and lists of an unknown length
  kAny,     // any dimension may be unknown
};

// Returns the element whose components are the fields. InvalidArgument for an
// empty list and for a shape that the format does not support. InvalidArgument
// also for a field without a name if `named`, and for a default unless
// `defaults`.
absl::StatusOr<ElementSpec> SpecOfFields(const std::vector<SourceField>& fields,
                                         FieldShapes shapes, bool named = true,
                                         bool defaults = false);

// Returns the element of one component without a name.
ElementSpec UnnamedSpec(DType dtype);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
