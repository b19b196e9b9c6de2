#ifndef FEEDMILL_CORE_NET_ARENA_LINK_H_
#define FEEDMILL_CORE_NET_ARENA_LINK_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/net/local_parts.h"
#include "core/net/shared_file.h"
#include "core/net/ticket_board.h"
#include "core/wire/message.h"
#include "core/wire/shared_parts.h"

namespace feedmill {

// A client's end of a link to a worker's memory: joins it, and turns what a
// frame says of it into Buffers. The Buffers own the link, so their bytes stay
// as they are however long the application keeps them and whatever becomes of
// the reader and the worker; the worker sees the link end when the last is
// gone. (In the child of a fork they do not: a child that goes on reading what
// its parent has read needs Transport::kTcp.)
//
// Thread: the reactor's; Buffers: any.
class ArenaLink : public PartBorrower,
                  public std::enable_shared_from_this<ArenaLink> {
 public:
  enum class State { kJoining, kUp, kLost };

  // Goes where the offer says; never blocks. Unavailable where this process
  // cannot (another host or container after all, another user).
  static absl::StatusOr<std::shared_ptr<ArenaLink>> Join(
      const ShareOffer& offer);

  int fd() const { return connection_.get(); }
  State state() const { return state_; }
  // To be called when fd() can be read while it is kJoining.
  State OnReadable();
  // The next message that came over the local connection; empty if there is
  // none, or one that goes before it is still on its way through a socket. To
  // be called until then when fd() can be read, and before and after a message
  // of a socket is handled: that keeps them in order. The state may be kLost
  // afterwards.
  std::vector<Buffer> Next();
  // Whether one that came waits for one that goes before it.
  bool waits() const { return !early_.empty(); }
  // Sends a message over the local connection. False: it is too large, or the
  // worker does not read, or has sent nothing so itself.
  bool Send(const std::vector<Buffer>& parts);
  // Whether a frame has used the link since the last call.
  bool Used() { return std::exchange(used_, false); }
  // No frame will come over this link any more.
  void Retire();

  absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) override;

 private:
  explicit ArenaLink(OwnedFd connection);
  // Messages that came before one that they follow.
  static constexpr size_t kEarlyMax = 1'024;

  absl::Status TakeTerms(const LocalMessage& message);
  TicketBoard& board() const {
    return *reinterpret_cast<TicketBoard*>(board_.data());
  }
  absl::StatusOr<Buffer> BorrowOne(const SharedPart& part);
  void GiveBack(uint32_t ticket) const;

  const OwnedFd connection_;
  const pid_t process_;
  State state_ = State::kJoining;
  uint64_t link_ = 0;
  uint64_t received_ = 0;
  bool used_ = false;
  bool carries_ = false;  // messages, too
  std::deque<LocalParts> early_;
  Mapping arena_;
  Mapping board_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_ARENA_LINK_H_
