#ifndef FEEDMILL_CORE_NET_SHARED_MEMORY_CLIENT_H_
#define FEEDMILL_CORE_NET_SHARED_MEMORY_CLIENT_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/net/local_parts.h"
#include "core/net/part_table.h"
#include "core/net/shared_file.h"
#include "core/wire/message.h"
#include "core/wire/shared_parts.h"

namespace feedmill {

// The client's end of a link to a worker's shared memory. Joins the link and
// converts shared parts of frames into Buffers.
//
// The Buffers own the link: their bytes stay valid until the application
// releases them, even after the reader and the worker have ended. The worker
// sees the link end when the last Buffer is released. After a fork the child's
// copies do not hold the link: if the child reads its parent's elements, use
// Transport::kTcp.
//
// Thread: the reactor's; Buffers: any.
class SharedMemoryClient
    : public PartBorrower,
      public std::enable_shared_from_this<SharedMemoryClient> {
 public:
  enum class State { kJoining, kUp, kLost };

  // Connects to the socket that the offer names; never blocks. Unavailable if
  // this process cannot connect: another host, container or user.
  static absl::StatusOr<std::shared_ptr<SharedMemoryClient>> Join(
      const ShareOffer& offer);

  int fd() const { return connection_.get(); }
  State state() const { return state_; }
  // Call when fd() is readable and the state is kJoining.
  State OnReadable();
  // Returns the next message of the local connection. Empty if there is none,
  // or if an earlier message is still on its way through a socket.
  //
  // To keep messages in order, call until empty when fd() is readable, and
  // before and after each message of a socket is handled. The state may be
  // kLost afterwards.
  std::vector<Buffer> Next();
  // True if a received message waits for an earlier one.
  bool waits() const { return !early_.empty(); }
  // Sends a message over the local connection. Returns false if it is too
  // large, if the worker does not read, or if the worker has not used the
  // connection for messages yet.
  bool Send(const std::vector<Buffer>& parts);
  // True if a frame has used the link since the last call.
  bool Used() { return std::exchange(used_, false); }
  // Tells the worker that no more frames may use this link.
  void Retire();

  absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) override;

 private:
  explicit SharedMemoryClient(OwnedFd connection);
  // Received messages whose predecessors have not arrived.
  static constexpr size_t kEarlyMax = 1'024;

  absl::Status TakeTerms(const LocalMessage& message);
  PartTable& part_table() const {
    return *reinterpret_cast<PartTable*>(part_table_.data());
  }
  absl::StatusOr<Buffer> BorrowOne(const SharedPart& part);
  void GiveBack(uint32_t entry) const;

  const OwnedFd connection_;
  const pid_t process_;
  State state_ = State::kJoining;
  uint64_t link_ = 0;
  uint64_t received_ = 0;
  bool used_ = false;
  bool carries_ = false;  // the worker sends messages over it
  std::deque<LocalParts> early_;
  Mapping arena_;
  Mapping part_table_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_MEMORY_CLIENT_H_
