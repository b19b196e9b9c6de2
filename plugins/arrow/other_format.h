#ifndef FEEDMILL_PLUGINS_ARROW_OTHER_FORMAT_H_
#define FEEDMILL_PLUGINS_ARROW_OTHER_FORMAT_H_

#include <string_view>

#include "absl/status/status.h"
#include "core/io/random_access_file.h"

namespace feedmill {

// InvalidArgument with the text `why` if the file begins with `magic`.
absl::Status RefuseFormat(const RandomAccessFile& file, std::string_view magic,
                          std::string_view why);

// InvalidArgument if the file begins with `magic`, which is the format of the
// source `source`.
absl::Status RefuseOtherFormat(const RandomAccessFile& file,
                               std::string_view magic, std::string_view source);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_OTHER_FORMAT_H_
