#ifndef FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
#define FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/source_kind.h"
#include "core/io/file_systems.h"
#include "core/io/url_options.h"
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
Field TypesField(std::vector<SourceField>& types);
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
// empty list, and for a shape that the format does not support. `named`: a
// field without a name is an error, too. Defaults are errors unless `defaults`,
// fields that may be null unless `nulls`.
absl::StatusOr<ElementSpec> SpecOfFields(const std::vector<SourceField>& fields,
                                         FieldShapes shapes, bool named = true,
                                         bool defaults = false,
                                         bool nulls = false);

// Returns the element of one component without a name.
ElementSpec UnnamedSpec(DType dtype);

// Returns the name of a file without the options of a URL.
inline std::string_view PathOfName(std::string_view name) {
  return SchemeOf(name).empty() ? name : name.substr(0, FindUrlOptions(name));
}

// Returns the options of a URL, with their '?'; "" if there are none.
inline std::string_view OptionsOfName(std::string_view name) {
  return name.substr(PathOfName(name).size());
}

// Returns the folder of a file, with its '/'.
inline std::string_view FolderOfName(std::string_view name) {
  const std::string_view path = PathOfName(name);
  return path.substr(0, path.rfind('/') + 1);
}

// Returns the name of a file in its folder.
inline std::string_view LastPartOfName(std::string_view name) {
  return PathOfName(name).substr(FolderOfName(name).size());
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_FILE_CHECKS_H_
