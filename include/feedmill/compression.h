#ifndef FEEDMILL_COMPRESSION_H_
#define FEEDMILL_COMPRESSION_H_

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Compression of whole files.
enum class Compression {
  kByName,  // gzip if every name ends in .gz, zstd for .zst, else none
  kNone,
  kGzip,
  kZstd,
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_COMPRESSION_H_
