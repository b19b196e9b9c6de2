#ifndef FEEDMILL_CORE_IO_FILE_IDENTITY_H_
#define FEEDMILL_CORE_IO_FILE_IDENTITY_H_

#include <cstdint>
#include <string>

namespace feedmill {

// Tells the contents that a name has at different times apart: two reads of a
// file with the same identity see the same bytes. A file system sets what it
// knows.
struct FileIdentity {
  uint64_t size = 0;
  int64_t mtime_ns = 0;  // since 1970; 0 if the file system has no such time
  std::string etag{};    // an object's version; "" for a local file

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// True if only the size tells versions apart: of a server without versions, or
// where a list of files has the size only.
inline bool KnowsSizeOnly(const FileIdentity& identity) {
  return identity.mtime_ns == 0 && identity.etag.empty();
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_IDENTITY_H_
