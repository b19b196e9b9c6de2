#ifndef FEEDMILL_COMPRESSION_H_
#define FEEDMILL_COMPRESSION_H_

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Compression of whole files.
enum class Compression {
  // By the first bytes of the first file where the reading process has it,
  // else by the end of the files' names.
  kByName,
  kNone,
  kGzip,
  kZstd,
  kBz2,
  kXz,
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_COMPRESSION_H_
