#ifndef FEEDMILL_CORE_IO_UTF16_STREAM_H_
#define FEEDMILL_CORE_IO_UTF16_STREAM_H_

#include <memory>

#include "core/io/byte_stream.h"

namespace feedmill {

// Converts a UTF-16 text to UTF-8. A byte order mark at the beginning gives the
// byte order and is left out. Without a mark, the text is little-endian.
// DataLoss for half a surrogate pair and for an odd number of bytes; the error
// names the offset.
std::unique_ptr<ByteStream> MakeUtf16Stream(std::unique_ptr<ByteStream> text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_UTF16_STREAM_H_
