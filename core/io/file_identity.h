#ifndef FEEDMILL_CORE_IO_FILE_IDENTITY_H_
#define FEEDMILL_CORE_IO_FILE_IDENTITY_H_

#include <cstdint>
#include <string>

namespace feedmill {

// Identifies the version of a file. Two reads of a file with the same identity
// see the same bytes. A file system sets the fields that it knows.
struct FileIdentity {
  uint64_t size = 0;
  int64_t mtime_ns = 0;  // since 1970; 0 if the file system does not know it
  std::string etag{};    // an object's version; "" for a local file

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// True if the size is the only sign of the version. This holds for a server
// without versions, and for a list of files that has sizes only.
inline bool KnowsSizeOnly(const FileIdentity& identity) {
  return identity.mtime_ns == 0 && identity.etag.empty();
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_IDENTITY_H_
