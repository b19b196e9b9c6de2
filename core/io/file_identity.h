#ifndef FEEDMILL_CORE_IO_FILE_IDENTITY_H_
#define FEEDMILL_CORE_IO_FILE_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// Identifies the version of a file. Two reads of a file with the same identity
// see the same bytes. A file system sets the fields that it knows.
struct FileIdentity {
  uint64_t size = 0;
  int64_t mtime_ns = 0;  // since 1970; 0 if the file system does not know it
  std::string etag{};    // an object's version; "" for a local file

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// True for an ETag W/"…". A different one means another version, but an equal
// one does not mean the same bytes.
inline bool IsWeakEtag(std::string_view etag) { return etag.starts_with("W/"); }

// True if an equal identity does not prove equal bytes, beyond their number.
// This holds for a server without versions or with weak ETags only, and for a
// list of files that has sizes only.
inline bool KnowsSizeOnly(const FileIdentity& identity) {
  return identity.mtime_ns == 0 &&
         (identity.etag.empty() || IsWeakEtag(identity.etag));
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_IDENTITY_H_
