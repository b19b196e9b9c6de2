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

// A shared folder in which the tasks of a cluster publish the ports they listen
// on. It has a file "JOB-INDEX" for each running task, with tcp://host:port and
// a newline.
//
// Thread-compatible. Errors name the folder.
class AddressBoard {
 public:
  // `folder` "": no board. Find returns nullopt and Publish does nothing.
  explicit AddressBoard(std::string folder) : folder_(std::move(folder)) {}

  bool present() const { return !folder_.empty(); }
  // Prepares this process's entry and removes a stale one. The entry is removed
  // with this object. InvalidArgument if the folder is missing or not writable.
  absl::Status Prepare(std::string_view job, int64_t index);
  absl::Status Publish(const std::string& address);
  void Remove() { own_.reset(); }

  // Returns the address a task has published; nullopt if none yet.
  // InvalidArgument if the content is not an address.
  absl::StatusOr<std::optional<std::string>> Find(std::string_view job,
                                                  int64_t index) const;

 private:
  std::string PathOf(std::string_view job, int64_t index) const;

  const std::string folder_;
  std::unique_ptr<AddressFile> own_;
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_ADDRESS_BOARD_H_
