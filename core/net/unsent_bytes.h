#ifndef FEEDMILL_CORE_NET_UNSENT_BYTES_H_
#define FEEDMILL_CORE_NET_UNSENT_BYTES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace feedmill {

// Bounds the bytes of messages that wait at a listener to be sent, in all and
// by peer. A peer may have as many bytes waiting as remain free: half of those
// that other peers leave. Each peer may always have kSmallBytes, so that
// answers pass.
//
// Thread: the reactor's. Any thread may drop what Take returns.
class UnsentBytes {
 public:
  // Smaller messages are not counted: the number of messages bounds them.
  static constexpr uint64_t kCountedBytes = uint64_t{1} << 10;
  static constexpr uint64_t kSmallBytes = uint64_t{256} << 10;

  explicit UnsentBytes(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Counts `bytes` for `peer` until the result is dropped. Null: too much
  // waits. A message alone passes if nothing else waits.
  std::shared_ptr<const void> Take(std::string_view peer, uint64_t bytes);
  // Drops the peer's entry. Its messages count in the total until they are
  // dropped.
  void Forget(std::string_view peer);

  uint64_t bytes() const { return all_->load(); }

 private:
  using Counter = std::shared_ptr<std::atomic<uint64_t>>;

  const uint64_t bytes_max_;
  const Counter all_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::map<std::string, Counter, std::less<>> by_peer_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_UNSENT_BYTES_H_
