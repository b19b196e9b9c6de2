#ifndef FEEDMILL_BROKER_EVENT_CODEC_H_
#define FEEDMILL_BROKER_EVENT_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/dispatcher_state.h"

// The bytes of events and of the whole state, as the journal keeps them.
// Numbers are LEB128, texts and lists come after their length; the first byte
// is the version. Pure.

namespace feedmill {

std::string EncodeEvent(const DispatcherEvent& event);
// DataLoss for bytes that EncodeEvent does not make. Never more work or memory
// than a constant times the size of `bytes`.
absl::StatusOr<DispatcherEvent> DecodeEvent(std::string_view bytes);

std::string EncodeState(const DispatcherState& state);
// The same; what comes back is sound in itself: every split has its session
// and every session its splits.
absl::StatusOr<DispatcherState> DecodeState(std::string_view bytes);

// Whether Apply(event) is allowed: what the event is about is there. DataLoss
// names what is not.
absl::Status CheckFollows(const DispatcherState& state,
                          const DispatcherEvent& event);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_EVENT_CODEC_H_
