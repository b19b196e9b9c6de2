// DecodeEvent and DecodeState on arbitrary bytes, and the states that the
// events lead to. The first byte of an input is the number of events. Each
// event follows its length, which is two bytes. The bytes behind them are a
// state.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "broker/event_codec.h"
#include "core/base/check.h"

namespace feedmill {
namespace {

// Takes what a journal that has it would lead to.
void TryEvent(std::string_view bytes, DispatcherState& state) {
  const auto event = DecodeEvent(bytes);
  if (!event.ok()) return;
  const std::string again = EncodeEvent(*event);
  const auto back = DecodeEvent(again);
  FM_CHECK(back.ok() && EncodeEvent(*back) == again);
  Describe(*event);
  if (CheckFollows(state, *event).ok()) state.Apply(*event);
}

void TryState(std::string_view bytes) {
  const auto state = DecodeState(bytes);
  if (!state.ok()) return;
  const auto back = DecodeState(EncodeState(*state));
  FM_CHECK(back.ok() && *back == *state);
}

void Try(std::string_view input) {
  DispatcherState state;
  size_t events = 0;
  if (!input.empty()) {
    events = static_cast<uint8_t>(input.front());
    input.remove_prefix(1);
  }
  for (; events > 0 && input.size() >= 2; --events) {
    const size_t size = static_cast<uint8_t>(input[0]) |
                        size_t{static_cast<uint8_t>(input[1])} << 8;
    input.remove_prefix(2);
    TryEvent(input.substr(0, size), state);
    input.remove_prefix(std::min(size, input.size()));
  }
  const auto back = DecodeState(EncodeState(state));
  FM_CHECK(back.ok() && *back == state);
  TryState(input);
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedmill::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
