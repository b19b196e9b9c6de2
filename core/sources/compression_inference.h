#ifndef FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_

#include "core/dataset/source.h"

namespace feedmill {

// Sets the compression of a source that has Compression::kByName to what the
// first bytes of its first file say, whatever the file's name. Leaves it if
// they say none: a file that is called .gz and is not is an error later. So it
// does if this process cannot read that file, or if the names of the files
// differ in their compression, which is an error, too. A file behind a URL is
// looked at only if its fields have to be found out, too: a look costs round
// trips.
void InferCompression(Source& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
