#ifndef FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_

#include <string>

#include "core/dataset/source.h"

namespace feedmill {

// Sets the compression of a source that has Compression::kByName, from the
// first bytes of its first file. The file's name does not matter. The
// compression stays kByName in these cases:
//   - the bytes show none: a plain file that is called .gz is an error later
//   - this process cannot read the file
//   - the names of the files differ in their compression, which is an error,
//   too
//
// `first_file`: the name of the first file, if it is known; "": it is looked
// for, unless it is behind a URL, where that costs round trips.
void InferCompression(Source& source, const std::string& first_file = "");

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
