#ifndef FEEDMILL_CLIENT_READ_SESSION_H_
#define FEEDMILL_CLIENT_READ_SESSION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

struct ReadSessionSettings {
  JobName job;
  std::string graph;  // CanonicalText
  Order order = Order::kDeterministic;
  std::optional<uint64_t> seed;
  Session session;
  bool take_over = false;
  uint64_t budget_bytes = uint64_t{64} << 20;  // credit over all splits
  uint64_t quota_bytes = uint64_t{4} << 20;    // credit ahead of one split
  absl::Duration reopen_after = absl::Seconds(1);
  absl::Duration hello_interval = absl::Milliseconds(200);
};

struct ReadEffects {
  std::vector<Outgoing> sends;  // to kDispatcherPeer or a worker's id
};

// The client's state machine: what is bound, granted, buffered and handed out.
// Pure. Takes each cursor once, from whichever attempt brings it first.
//
// Thread: the client's reactor only.
// States: join → live ⇄ mute (lease not valid: hands out nothing) → ended |
// failed. See PROTOCOL.md.
class ReadSession {
 public:
  enum class State { kJoin, kLive, kEnded, kFailed };

  explicit ReadSession(ReadSessionSettings settings);
  virtual ~ReadSession() = default;

  ReadEffects Handle(absl::Time now, const PeerId& from,
                     const Message& message);
  ReadEffects OnTick(absl::Time now);

  // The next piece for the client stage: in order, or (Order::kAny) as they
  // come; nullopt if none is there, the lease is not valid, or it has ended.
  // Credit returns with it. A piece's error is the last thing pulled.
  std::optional<Piece> Pull(absl::Time now, ReadEffects& effects);
  // The first `rows` rows of all that Pull gave (counted from the start) were
  // handed to the application. Sharers' reports use it.
  void HandedOut(uint64_t rows);
  // The application wants no more.
  ReadEffects Leave(absl::Time now);

  State state() const;
  absl::Status failure() const;            // why kFailed
  const std::optional<RunInfo>& run() const;
  uint32_t workers() const;                // that the dispatcher knows of
  bool answered() const;                   // by a dispatcher, ever
  absl::Time last_answer() const;
  uint64_t buffered_bytes() const;
  absl::Time NextDeadline() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_SESSION_H_
