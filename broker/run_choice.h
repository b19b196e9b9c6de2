#ifndef FEEDMILL_BROKER_RUN_CHOICE_H_
#define FEEDMILL_BROKER_RUN_CHOICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

// Chooses the run of a job that a reader reads.

namespace feedmill {

// Returns the run that a hello asks for: the run that it names, or else the
// first run that its reader has not finished.
RunNumber RunOf(const ClientHello& hello, const JobState& job);

// Returns the rank of a consumer of the job, from its name: "1/3" is rank 1 of
// 3. Nullopt if the name is of no rank of the job.
std::optional<uint64_t> RankOf(const ConsumerId& consumer, const JobState& job);

// True if the job continued with another number of ranks, and one of them has a
// later life than this reader.
bool Outlived(const ClientHello& hello, const JobState& job);

// True if the session's incarnation is later than every incarnation that the
// job has met of its consumer.
bool IsLatestLife(const Session& session, const JobState& job);

// True if the session's incarnation is the last one that the job has met of its
// consumer.
bool IsLastLife(const Session& session, const JobState& job);

// True if a reader may begin an earlier run again. The reader was restarted,
// from a token of that run or because it has not finished that run.
bool GoesBack(const ClientHello& hello, const JobState& job);

// Returns the error for a hello that names an earlier run and may not go back
// to it.
absl::Status WhyOld(const ClientHello& hello, const JobState& job);

// Returns the error for a life that a later life of the same consumer has
// replaced.
absl::Status TakenOver(const JobName& job, const ConsumerId& consumer);

// Returns the error for a session that other sessions have replaced or left
// behind. `closed`: the session ended for good.
absl::Status WhyOver(const Session& session, const JobState& job, bool closed);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RUN_CHOICE_H_
