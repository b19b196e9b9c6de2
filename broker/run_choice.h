#ifndef FEEDMILL_BROKER_RUN_CHOICE_H_
#define FEEDMILL_BROKER_RUN_CHOICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

// Which run of a job a reader reads.

namespace feedmill {

// The run that a hello asks for: its own, or the first that its reader has not
// finished.
RunNumber RunOf(const ClientHello& hello, const JobState& job);

// Which rank a consumer of the job is, by its name: "1/3" is rank 1 of three.
std::optional<uint64_t> RankOf(const ConsumerId& consumer, const JobState& job);

// True if an application that went on in another number of ranks has a later
// life than this reader's.
bool Outlived(const ClientHello& hello, const JobState& job);

// True if a session's incarnation is above all that were met of its consumer.
bool IsLatestLife(const Session& session, const JobState& job);

// True if it is the last one that was met.
bool IsLastLife(const Session& session, const JobState& job);

// True if a reader may begin an earlier run again: one that was started anew,
// from a token of it or because it has not finished it.
bool GoesBack(const ClientHello& hello, const JobState& job);

// Why a hello of an earlier run that may not go back is refused.
absl::Status WhyOld(const ClientHello& hello, const JobState& job);

// Why a life is over of which a later one of the same consumer took the place.
absl::Status TakenOver(const JobName& job, const ConsumerId& consumer);

// Why a session is over that others have replaced or gone past; `closed`: it
// ended for good.
absl::Status WhyOver(const Session& session, const JobState& job, bool closed);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_RUN_CHOICE_H_
