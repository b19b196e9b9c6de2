#ifndef FEEDMILL_SERVER_ADDRESS_FILE_H_
#define FEEDMILL_SERVER_ADDRESS_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace feedmill {

// A file with which a long-running process publishes its address to the program
// that started it. Appears atomically (written beside, then renamed), holds the
// address and a newline, and is removed with this object. A path below /dev/fd
// is a descriptor of this process, e.g. a pipe: it is written once and closed.
//
// Thread-compatible. Errors: InvalidArgument if the path can never be written
// (missing folder, or a folder itself), otherwise Unavailable.
class AddressFile {
 public:
  // Path "": no file; all calls succeed and do nothing. `option`: the option
  // that gave the path, for messages.
  explicit AddressFile(std::string path, std::string option = "--ready-file");
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

  // Checks that the file can be written. Removes a stale file, so that no
  // program uses the address of an ended process.
  absl::Status Prepare();
  absl::Status Write(const std::string& address);
  // Removes the file, unless another process has replaced it.
  void Remove();

 private:
  absl::Status WriteToDescriptor(const std::string& content) const;

  const std::string path_;
  const std::string option_;
  const bool descriptor_;
  std::string written_;  // content of the file; "" before Write
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_ADDRESS_FILE_H_
