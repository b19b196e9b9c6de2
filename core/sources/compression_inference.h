#ifndef FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_

#include <span>
#include <string>
#include <string_view>

#include "core/dataset/source.h"
#include "core/io/file_system.h"

namespace feedmill {

// Sets the compression of a source that has Compression::kByName, from the
// first bytes of its first file with bytes: a compression, or kNone. Only the
// first 16 files are looked at. The file's name does not matter, except in
// these cases, where the name tells the compression:
//   - this process cannot find or read the file; a store has kLookTime
//   - the files are empty
//   - the bytes show no compression and are no text, but the name says that
//     the file is compressed: it is damaged, which is an error later
//   - the names of the files differ in their compression, which is an error,
//   too
//
// `found`: the source's files, if they are known. Without them,
// the files are looked for: all of them only if the first one is empty, or if
// that is the only way.
void InferCompression(Source& source, std::span<const FoundFile> found = {});

// Returns advice for an error or a warning about a file that is read as it is
// and begins with these bytes (the first kCompressionBytes): "it begins as a
// gzip file does; if it is one, write `compression: gzip`"; "" if they show
// neither a compression nor another format that is known.
std::string FormatAdvice(std::string_view first_bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COMPRESSION_INFERENCE_H_
