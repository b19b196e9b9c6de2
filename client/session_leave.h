#ifndef FEEDMILL_CLIENT_SESSION_LEAVE_H_
#define FEEDMILL_CLIENT_SESSION_LEAVE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "client/session_settings.h"
#include "core/wire/message.h"

namespace feedmill {

// The leave of a session, repeated until it is acknowledged or was sent four
// times, and the unacknowledged leaves of earlier readers. Pure.
class SessionLeave {
 public:
  // `settings` must outlive this object.
  explicit SessionLeave(const ReadSessionSettings& settings)
      : settings_(settings), former_(settings.former_leaves) {}

  // ---- earlier readers
  // Sends their leaves. False: all are acknowledged, and this session may join.
  bool SendFormer(std::vector<Outgoing>& sends) const;
  // Handles the acknowledgement of an earlier reader's leave. False: the
  // session is none of theirs.
  bool AcknowledgeFormer(const Session& session);
  bool has_former() const { return !former_.empty(); }

  // ---- this session
  // Records whether the dispatcher may know this session. Only then its leave
  // is sent.
  void SetKnown(bool known) { known_ = known; }
  // Leaves. `leave` has the last report: positions not reported by then are
  // given to other readers.
  void Begin(ClientLeave leave);
  // Leaves a run that is over, of which no dispatcher has to hear.
  void BeginUnsent() { leaving_ = true; }
  bool leaving() const { return leaving_; }
  // True if the session has left and the dispatcher knows, or never knew of it.
  bool left() const { return leaving_ && !known_; }
  // Sends the leave and sets the time of its repetition.
  void Send(absl::Time now, std::vector<Outgoing>& sends);
  void Acknowledge();
  // Time of the next Send.
  absl::Time next() const { return next_; }
  void SendSoon() { next_ = absl::InfinitePast(); }

  // Unacknowledged leaves: of earlier readers and its own.
  std::vector<ClientLeave> Unacknowledged() const;

 private:
  const ReadSessionSettings& settings_;
  std::vector<ClientLeave> former_;  // not acknowledged yet
  bool known_ = false;
  bool leaving_ = false;
  ClientLeave leave_;  // set when leaving
  uint32_t sent_ = 0;
  absl::Time next_ = absl::InfiniteFuture();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SESSION_LEAVE_H_
