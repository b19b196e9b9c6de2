// Packets of a local connection: no crash, and what is understood is sent and
// understood again the same.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "core/net/local_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<int, 2> ends = [] {
    std::array<int, 2> made{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, made.data()) != 0) std::abort();
    return made;
  }();
  if (size == 0 || size > (size_t{64} << 10)) return 0;
  if (send(ends[0], data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const auto message = feedmill::ReceivePartsLocally(ends[1]);
  if (!message.ok()) return 0;
  if (!feedmill::SendPartsLocally(ends[0], message->after, message->parts)) {
    // It has room for the padding of all parts, which one may take.
    size_t bytes = 0;
    for (const auto& part : message->parts) bytes += part.size();
    if (bytes <= feedmill::kLocalBytesMax) std::abort();
    return 0;
  }
  const auto again = feedmill::ReceivePartsLocally(ends[1]);
  if (!again.ok() || again->after != message->after ||
      !std::ranges::equal(message->parts, again->parts,
                          [](const auto& a, const auto& b) {
                            return std::equal(a.data(), a.data() + a.size(),
                                              b.data(), b.data() + b.size());
                          })) {
    std::abort();
  }
  return 0;
}
