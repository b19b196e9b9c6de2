#ifndef FEEDMILL_LINK_H_
#define FEEDMILL_LINK_H_

#include <cstdint>
#include <string>

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The way from a worker to a client.
enum class LinkKind : uint8_t {
  kTcp = 1,
  kMemory = 2,   // shared memory; small parts over TCP
  kProcess = 3,  // the worker is in the client's process
  kRelay = 4,    // through the dispatcher
};
// Compression of elements that are sent over a network.
enum class LinkCompression : uint8_t {
  kNone = 1,
  kLz4 = 2,
  kZstd = 3,
  // For requests only: the codec with the highest end-to-end throughput; none
  // on fast links and for data that does not shrink.
  kAuto = 4,
};
// Names in status and logs: "tcp", "memory", "process", "relay"; "none",
// "lz4", "zstd", "auto".
const char* LinkName(LinkKind kind);
const char* CompressionName(LinkCompression codec);

// Amounts that a reader has received from one worker so far.
struct LinkReport {
  std::string worker;  // its data address, "tcp://host:port"
  LinkKind kind = LinkKind::kTcp;
  LinkCompression compression = LinkCompression::kNone;  // of the last frame
  uint64_t frames = 0;         // number of messages with elements
  uint64_t element_bytes = 0;  // in these messages, before compression
  uint64_t wire_bytes = 0;     // sent through sockets for these messages
};

// Weight of a job when several jobs compete for a worker (JobOptions::weight).
inline constexpr uint32_t kDefaultWeight = 100;
inline constexpr uint32_t kWeightMax = 10'000;
}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_LINK_H_
