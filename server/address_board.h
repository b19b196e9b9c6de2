#ifndef FEEDMILL_SERVER_ADDRESS_BOARD_H_
#define FEEDMILL_SERVER_ADDRESS_BOARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/address_file.h"

namespace feedmill {

// Where the tasks of a cluster tell each other the ports that they were given:
// a folder that all of them see, with a file "JOB-INDEX" for each that runs,
// holding tcp://host:port and a newline.
//
// Thread-compatible. Errors name the folder.
class AddressBoard {
 public:
  // `folder` "": no board; nothing is found, publishing does nothing.
  explicit AddressBoard(std::string folder) : folder_(std::move(folder)) {}

  bool present() const { return !folder_.empty(); }
  // This process's own entry, in place of a stale one; gone when this object
  // is. InvalidArgument if the folder is not there or cannot be written.
  absl::Status Prepare(std::string_view job, int64_t index);
  absl::Status Publish(const std::string& address);
  void Remove() { own_.reset(); }

  // What a task has published; nullopt while it has not. InvalidArgument if
  // what is there is no address.
  absl::StatusOr<std::optional<std::string>> Find(std::string_view job,
                                                  int64_t index) const;

 private:
  std::string PathOf(std::string_view job, int64_t index) const;

  const std::string folder_;
  std::unique_ptr<AddressFile> own_;
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_ADDRESS_BOARD_H_
