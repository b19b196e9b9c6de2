#include "core/net/zmq_parts.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "core/chunk/large_blocks.h"
#include "core/net/release_thread.h"

namespace feedmill {
namespace {

// Keeps a buffer alive while libzmq sends it. `lent` orders this thread's
// writes before libzmq's reads; ThreadSanitizer cannot see libzmq's own
// ordering.
struct LentBuffer {
  LentBuffer(const Buffer& lends, std::shared_ptr<const void> held)
      : buffer(lends), until_sent(std::move(held)) {
    lent.store(true, std::memory_order_release);
  }

  const Buffer buffer;
  const std::shared_ptr<const void> until_sent;
  std::atomic<bool> lent = false;
};

// Runs on a thread of libzmq, which carries heartbeats, too.
void ReleaseBuffer(void*, void* hint) {
  const FreesElsewhere frees;
  auto* const lent = static_cast<LentBuffer*>(hint);
  static_cast<void>(lent->lent.load(std::memory_order_acquire));
  delete lent;
}

// A received message. libzmq took its memory from malloc.
struct ReceivedPart {
  explicit ReceivedPart(zmq::message_t received) : part(std::move(received)) {}
  ReceivedPart(const ReceivedPart&) = delete;
  ReceivedPart& operator=(const ReceivedPart&) = delete;
  ~ReceivedPart() {
    if (part.size() < kLargeBlockBytes || !FreesElsewhere::Active()) return;
    const size_t bytes = part.size();
    ReleaseElsewhere(std::make_shared<zmq::message_t>(std::move(part)), bytes);
  }

  zmq::message_t part;
};

bool SendPart(zmq::socket_t& socket, zmq::message_t part, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  while (zmq_msg_send(part.handle(), socket.handle(), flags) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

void SetOrigin(zmq::message_t& part, Origin& origin) {
  origin.fd = zmq_msg_get(part.handle(), ZMQ_SRCFD);
  if (!origin.names_user) return;
  const char* const name = zmq_msg_gets(part.handle(), "User-Id");
  origin.user = name == nullptr ? "" : name;
}

}  // namespace

bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part) {
  while (zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

int ReadyEvents(zmq::socket_t& socket) {
  int events = 0;
  size_t size = sizeof events;
  while (zmq_getsockopt(socket.handle(), ZMQ_EVENTS, &events, &size) != 0) {
    if (errno != EINTR) throw zmq::error_t();
  }
  return events;
}

zmq::message_t ToPart(const Buffer& buffer,
                      std::shared_ptr<const void> until_sent) {
  if (buffer.size() < kZeroCopyBytes && until_sent == nullptr) {
    return zmq::message_t(buffer.data(), buffer.size());
  }
  // libzmq never writes to the data; its parameter type only lacks the const.
  return zmq::message_t(const_cast<std::byte*>(buffer.data()), buffer.size(),
                        ReleaseBuffer,
                        new LentBuffer(buffer, std::move(until_sent)));
}

Buffer ToBuffer(zmq::message_t part) {
  auto owner = std::make_shared<ReceivedPart>(std::move(part));
  const auto* data = static_cast<const std::byte*>(owner->part.data());
  const size_t size = owner->part.size();
  return Buffer(std::move(owner), data, size);
}

ReceiveResult ReceiveParts(zmq::socket_t& socket, bool routed,
                           std::string& from, std::vector<Buffer>& parts,
                           Origin* origin) {
  zmq::message_t part;
  if (!ReceivePart(socket, part)) return ReceiveResult::kNothing;
  parts.clear();
  from.clear();
  bool more = part.more();
  if (origin != nullptr && !more) SetOrigin(part, *origin);
  if (routed) {
    from = part.to_string();
  } else {
    parts.push_back(ToBuffer(std::move(part)));
  }
  // libzmq delivers whole messages only, so the remaining parts are available.
  // (A message without an end never gets here; see ConnectionGuard.)
  bool fits = true;
  while (more) {
    zmq::message_t next;
    if (!ReceivePart(socket, next)) break;
    more = next.more();
    // A routing id that libzmq had buffered carries no origin; the last part
    // does.
    if (origin != nullptr && !more) SetOrigin(next, *origin);
    fits = fits && parts.size() < kPartsMax;
    if (fits) parts.push_back(ToBuffer(std::move(next)));
  }
  return fits ? ReceiveResult::kMessage : ReceiveResult::kTooManyParts;
}

bool SendParts(zmq::socket_t& socket, bool routed, std::string_view to,
               const std::vector<Buffer>& parts,
               const std::shared_ptr<const void>& until_sent) {
  if (routed &&
      !SendPart(socket, zmq::message_t(to.data(), to.size()), !parts.empty())) {
    return false;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool more = i + 1 < parts.size();
    // libzmq sends parts in order, so the last one says that all are sent.
    if (!SendPart(socket, ToPart(parts[i], more ? nullptr : until_sent),
                  more)) {
      return false;
    }
  }
  return true;
}

}  // namespace feedmill
