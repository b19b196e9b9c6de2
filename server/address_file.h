#ifndef FEEDMILL_SERVER_ADDRESS_FILE_H_
#define FEEDMILL_SERVER_ADDRESS_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace feedmill {

// The file by which a long-running process says where it serves, for whoever
// started it. Appears whole (written beside, then renamed), holds the address
// and a newline, and goes when this object does. A path below /dev/fd is a
// descriptor of this process, a pipe's end say: written to once, and closed.
//
// Thread-compatible. Errors: InvalidArgument where the path can never be
// written (no such folder, a folder itself), Unavailable otherwise.
class AddressFile {
 public:
  // Path "": no file; every call succeeds and does nothing. `option`: what
  // named the path, for messages.
  explicit AddressFile(std::string path, std::string option = "--ready-file");
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

  // Checks that the file can be written, and removes a stale one, so that
  // nobody takes the address of a process that is gone for ours.
  absl::Status Prepare();
  absl::Status Write(const std::string& address);
  // Removes the file, unless another process has replaced it since.
  void Remove();

 private:
  absl::Status WriteToDescriptor(const std::string& content) const;

  const std::string path_;
  const std::string option_;
  const bool descriptor_;
  std::string written_;  // its content; "" before Write
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_ADDRESS_FILE_H_
