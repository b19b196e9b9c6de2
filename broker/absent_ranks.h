#ifndef FEEDMILL_BROKER_ABSENT_RANKS_H_
#define FEEDMILL_BROKER_ABSENT_RANKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "broker/dispatcher_state.h"
#include "broker/peer_clock.h"
#include "broker/reader_table.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Ranks that another rank waits for: their number, and the first few of them.
struct PendingRanks {
  uint64_t count = 0;
  std::vector<uint64_t> ranks{};
};

// Ranks that have not finished a run.
struct RanksLeft {
  std::vector<uint64_t> missing;  // neither connected nor at the end
  std::vector<uint64_t> reading;
  bool next_is_asked_for = false;  // a rank waits for the next run
};

// The last messages of ranks that have no session: their life, the time, and
// the run that they wait for. From them follows which ranks a rank that is
// ahead waits for. Pure.
class AbsentRanks {
 public:
  // The references must outlive this object.
  AbsentRanks(const DispatcherSettings& settings, const PeerClock& clock)
      : settings_(settings), clock_(clock) {}

  // If `heard` is older than the client timeout, the rank may be dead.
  struct LastMessage {
    Incarnation incarnation;
    absl::Time heard;
    std::optional<RunNumber> wants{};
  };
  void Note(const JobState& job, uint64_t rank, LastMessage message);
  // After a restart, all ranks without a session count as heard now.
  void NoteAll(absl::Time now, const JobState& job);
  // Records the ranks' last messages when another run begins. Its ranks report
  // their position again.
  void NoteRunsEnd(const JobState& job, ReaderTable& readers);
  // Records a message of a consumer's last life that has no session, but still
  // reads.
  void NoteLastLife(absl::Time now, const JobState& job,
                    const Session& session);

  // The rank has a session now.
  void Erase(const JobName& job, uint64_t rank) {
    messages_.erase({job, rank});
  }
  void Forget(const JobName& job);
  // Drops ranks that are silent and have finished no run. Silent ranks that
  // have finished a run are kept.
  void ForgetSilent(absl::Time now, const DispatcherState& state);

  // Returns the ranks that have not finished the run before the run that a
  // hello asks for.
  PendingRanks Behind(absl::Time now, const ClientHello& hello,
                      const JobState& job) const;
  // Returns the ranks that this store has not met.
  static PendingRanks Unmet(const JobState& job);
  RanksLeft ToEnd(const JobState& job) const;

 private:
  const DispatcherSettings& settings_;
  const PeerClock& clock_;
  std::map<std::pair<JobName, uint64_t>, LastMessage> messages_;
  absl::Time next_forget_ = absl::InfinitePast();  // next ForgetSilent
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_ABSENT_RANKS_H_
