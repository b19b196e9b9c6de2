#include "core/net/local_parts.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/base/status.h"

namespace feedmill {
namespace {

// The header of a packet. The parts follow, each aligned to kAlignment.
struct PacketHead {
  uint64_t after;
  uint32_t count;
  uint32_t sizes[kLocalPartsMax];  // `count` of them
};
constexpr size_t kAlignment = 8;
constexpr size_t kFixedBytes = offsetof(PacketHead, sizes);
constexpr size_t kPacketMax =
    sizeof(PacketHead) + kLocalBytesMax + kAlignment * kLocalPartsMax;

constexpr size_t Aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

constexpr size_t HeadBytes(size_t count) {
  return Aligned(kFixedBytes + count * sizeof(uint32_t));
}

absl::Status NoMessage(size_t size) {
  return InvalidArgument("a malformed packet of {} bytes", size);
}

// Splits a packet into its parts, which share the packet's memory.
absl::StatusOr<LocalParts> Split(std::span<const std::byte> bytes) {
  PacketHead head;
  if (bytes.size() < kFixedBytes) return NoMessage(bytes.size());
  std::memcpy(&head, bytes.data(), kFixedBytes);
  if (head.count == 0 || head.count > kLocalPartsMax ||
      bytes.size() < HeadBytes(head.count)) {
    return NoMessage(bytes.size());
  }
  std::memcpy(head.sizes, bytes.data() + kFixedBytes,
              head.count * sizeof(uint32_t));
  const auto packet = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(packet.get(), bytes.data(), bytes.size());
  LocalParts message{head.after, {}};
  message.parts.reserve(head.count);
  size_t at = HeadBytes(head.count);
  for (size_t k = 0; k < head.count; ++k) {
    const size_t size = head.sizes[k];
    if (size > bytes.size() - at || Aligned(size) > bytes.size() - at) {
      return NoMessage(bytes.size());
    }
    message.parts.emplace_back(packet, packet.get() + at, size);
    at += Aligned(size);
  }
  if (at != bytes.size()) return NoMessage(bytes.size());
  return message;
}

}  // namespace

bool SendPartsLocally(int connection, uint64_t after,
                      std::span<const Buffer> parts) {
  if (parts.empty() || parts.size() > kLocalPartsMax) return false;
  static constexpr std::array<std::byte, kAlignment> kPadding{};
  PacketHead head{after, static_cast<uint32_t>(parts.size()), {}};
  std::array<iovec, 1 + 2 * kLocalPartsMax> buffers;
  size_t used = 0;
  buffers[used++] = {&head, HeadBytes(parts.size())};
  size_t bytes = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    const size_t size = parts[k].size();
    if (size > kLocalBytesMax - bytes) return false;
    bytes += size;
    head.sizes[k] = static_cast<uint32_t>(size);
    buffers[used++] = {const_cast<std::byte*>(parts[k].data()), size};
    buffers[used++] = {const_cast<std::byte*>(kPadding.data()),
                       Aligned(size) - size};
  }
  msghdr message{};
  message.msg_iov = buffers.data();
  message.msg_iovlen = used;
  return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

absl::StatusOr<LocalParts> ReceivePartsLocally(int connection) {
  std::array<std::byte, kPacketMax> packet;
  const ssize_t got =
      recv(connection, packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return LocalParts{};
  if (got <= 0) {
    return Unavailable("the other end of a local connection is gone");
  }
  const auto size = static_cast<size_t>(got);
  if (size > packet.size()) return NoMessage(size);
  return Split({packet.data(), size});
}

}  // namespace feedmill
