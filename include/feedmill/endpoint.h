#ifndef FEEDMILL_ENDPOINT_H_
#define FEEDMILL_ENDPOINT_H_

#include <cstdint>
#include <string>

// Connections of the processes of a service: their keys, the addresses that
// they listen on, and the links from workers to readers.

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The keys of a process (docs/security.md).
struct SecurityConfig {
  // The folder that `feedmill keygen` makes: the process's own key, named after
  // its role ("worker.key"), and for servers the keys that may connect. Empty:
  // nothing is encrypted, and any process that can connect may.
  std::string keys{};
  // The dispatcher's public key, or a file that holds it. Default:
  // dispatcher.pub in `keys`.
  std::string server_key{};
};

// The address that a dispatcher, a worker or a server listens on, and the peers
// that may connect.
struct EndpointConfig {
  // A host name or address of this machine ("0.0.0.0" for all), and a port, 0
  // for any free one. Default host: 127.0.0.1; of a Server, the host of its
  // task's address if that is an IP address or loopback, else all interfaces.
  std::string host{};
  uint16_t port = 0;  // of a Server: ServerDef::port counts instead
  // The address that other processes connect to: "host" or "host:port". Default
  // host: `host`. If that is a wildcard: of a worker, this machine's address of
  // its connection to the dispatcher, decided again at each connection; of a
  // dispatcher, the one on the way out; of a Server, the host of its task's
  // address. Default port: the bound port.
  std::string advertise{};
  // With keys, everything is encrypted, and only the peers that the folder
  // lists may connect. Without keys, `host` must be loopback unless
  // `insecure_bind` is true: any process that can connect is then served.
  SecurityConfig security{};
  bool insecure_bind = false;
  // Peers that name another cluster are refused.
  std::string cluster_id{};
};

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

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_ENDPOINT_H_
