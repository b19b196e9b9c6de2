#ifndef FEEDMILL_CORE_IO_UTF16_STREAM_H_
#define FEEDMILL_CORE_IO_UTF16_STREAM_H_

#include <memory>

#include "core/io/byte_stream.h"

namespace feedmill {

// The UTF-8 of a text in UTF-16. A byte order mark at its beginning says its
// byte order and is left out; without one it is little-endian. DataLoss for
// half a surrogate pair and for an odd number of bytes, naming the offset.
std::unique_ptr<ByteStream> MakeUtf16Stream(std::unique_ptr<ByteStream> text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_UTF16_STREAM_H_
