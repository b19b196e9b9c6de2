#ifndef FEEDMILL_CORE_BASE_COMPRESSION_H_
#define FEEDMILL_CORE_BASE_COMPRESSION_H_

namespace feedmill {

// Compression of whole files.
enum class Compression {
  kByName,  // gzip if every name ends in .gz, zstd for .zst, else none
  kNone,
  kGzip,
  kZstd,
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_COMPRESSION_H_
