#ifndef FEEDMILL_BROKER_EVENT_CODEC_H_
#define FEEDMILL_BROKER_EVENT_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/dispatcher_state.h"

// Encodes events and the whole state for the journal. The first byte is the
// version. Numbers are LEB128; a text or list follows its length. Pure.

namespace feedmill {

std::string EncodeEvent(const DispatcherEvent& event);
// DataLoss for bytes that EncodeEvent does not make. Time and memory are at
// most a constant times the size of `bytes`.
absl::StatusOr<DispatcherEvent> DecodeEvent(std::string_view bytes);

std::string EncodeState(const DispatcherState& state);
// DataLoss for bytes that EncodeState does not make. The result is consistent:
// every split has its session and every session its splits. Time and memory are
// bounded as for DecodeEvent.
absl::StatusOr<DispatcherState> DecodeState(std::string_view bytes);

// OK if Apply(event) is allowed: the objects that the event names exist.
// DataLoss names the missing object.
absl::Status CheckFollows(const DispatcherState& state,
                          const DispatcherEvent& event);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_EVENT_CODEC_H_
