// Frames whose large parts are in shared memory.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <string>

#include "core/base/status.h"
#include "core/chunk/order_hash.h"
#include "core/wire/codec.h"
#include "tests/unit/wire/golden_file.h"
#include "tests/unit/wire/sample_messages.h"

namespace feedmill {
namespace {

// A separate memory; large parts that it lends are copied into it.
class Memory : public PartLender, public PartBorrower {
 public:
  SharedParts Lend(std::span<const Buffer> parts) override {
    SharedParts shared{0xabc, ++sequence_, {}};
    for (size_t k = 1; k < parts.size(); ++k) {
      if (parts[k].size() < (64 << 10)) continue;
      shared.parts.push_back({static_cast<uint32_t>(k), next_ticket_++,
                              bytes_.size(), parts[k].size()});
      bytes_.append(reinterpret_cast<const char*>(parts[k].data()),
                    parts[k].size());
    }
    last_ = shared;
    return shared;
  }
  absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) override {
    borrowed_ = shared;
    std::vector<Buffer> buffers;
    for (const SharedPart& part : shared.parts) {
      if (part.offset > bytes_.size() ||
          part.size > bytes_.size() - part.offset) {
        return InvalidArgument("outside");
      }
      buffers.push_back(Buffer::CopyOf(
          std::as_bytes(std::span(bytes_).subspan(part.offset, part.size))));
    }
    return buffers;
  }
  const SharedParts& last() const { return last_; }
  const SharedParts& borrowed() const { return borrowed_; }

 private:
  std::string bytes_;
  uint64_t sequence_ = 0;
  uint32_t next_ticket_ = 5;
  SharedParts last_, borrowed_;
};

Frame WideFrame() {
  Piece piece;
  piece.end = {128, 0};
  piece.chunk = WideChunk(128);
  return FrameOf(std::move(piece));
}

uint64_t HashOf(const Message& message) {
  OrderHash hash;
  hash.Add(std::get<Frame>(message).piece.chunk);
  return hash.value();
}

TEST(SharedParts, AreNotSentAndArriveUnchanged) {
  Memory memory;
  const Frame frame = WideFrame();
  const Parts whole = Encode(frame, kCluster);
  const Parts parts = Encode(frame, kCluster, &memory);
  ASSERT_EQ(memory.last().parts.size(), 1u);
  EXPECT_EQ(parts.size() + 1, whole.size());
  size_t sent = 0;
  for (const Buffer& part : parts) sent += part.size();
  EXPECT_LT(sent, 4096u);
  const auto decoded = Decode(parts, kCluster, &memory);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(HashOf(*decoded), HashOf(frame));
  EXPECT_EQ(memory.borrowed().link, 0xabcu);
  EXPECT_EQ(memory.borrowed().sequence, 1u);
  EXPECT_EQ(memory.borrowed().parts[0].entry, 5u);
  EXPECT_EQ(Joined(Encode(*decoded, kCluster)), Joined(whole));
}

TEST(SharedParts, FramesWithoutAnyAreCountedToo) {
  Memory memory;
  Piece piece;
  piece.end = {3, 0};
  piece.chunk = WideChunk(3);
  const Frame small = FrameOf(std::move(piece));
  const auto decoded =
      Decode(Encode(small, kCluster, &memory), kCluster, &memory);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(memory.borrowed().sequence, 1u);
  EXPECT_EQ(memory.borrowed().parts.size(), 0u);
}

TEST(SharedParts, NeedSomeoneToBorrowThem) {
  Memory memory;
  const Parts parts = Encode(WideFrame(), kCluster, &memory);
  EXPECT_TRUE(absl::IsInvalidArgument(Decode(parts, kCluster).status()));
}

TEST(SharedParts, BelongToFramesOnly) {
  Memory memory;
  EXPECT_EQ(Joined(Encode(Grant{}, kCluster, &memory)),
            Joined(Encode(Grant{}, kCluster)));
  EXPECT_EQ(memory.last().sequence, 0u);
}

// Returns the parts with a changed index of the only shared part.
Parts Renumbered(Parts parts, const SharedPart& shared, uint32_t index) {
  const auto* bytes = reinterpret_cast<const char*>(parts[0].data());
  std::string header(bytes, parts[0].size() - 8);
  std::string place(sizeof(SharedPart), 0);
  std::memcpy(place.data(), &shared, sizeof(shared));
  const size_t at = header.find(place);
  EXPECT_NE(at, header.npos);
  std::memcpy(header.data() + at, &index, sizeof(index));
  const uint64_t checksum = XXH3_64bits(header.data(), header.size());
  header.append(reinterpret_cast<const char*>(&checksum), 8);
  parts[0] = Buffer::CopyOf(std::as_bytes(std::span(header)));
  return parts;
}

TEST(SharedParts, MustStandBetweenTheOthers) {
  Memory memory;
  const Parts parts = Encode(WideFrame(), kCluster, &memory);
  const SharedPart shared = memory.last().parts[0];
  ASSERT_EQ(shared.part, 2u);
  EXPECT_TRUE(Decode(Renumbered(parts, shared, 2), kCluster, &memory).ok());
  for (const uint32_t index : {0u, 1u, 3u, ~0u}) {
    const auto decoded =
        Decode(Renumbered(parts, shared, index), kCluster, &memory);
    EXPECT_TRUE(absl::IsInvalidArgument(decoded.status())) << index;
  }
}

TEST(SharedParts, RefusesPartsOutsideTheMemory) {
  Memory memory;
  Memory empty;
  const Parts parts = Encode(WideFrame(), kCluster, &memory);
  EXPECT_TRUE(
      absl::IsInvalidArgument(Decode(parts, kCluster, &empty).status()));
}

// Bytes of this version, like in wire_test: the header and the small parts.
TEST(SharedParts, AreTheseBytes) {
  Memory memory;
  const std::string encoded = Joined(Encode(WideFrame(), kCluster, &memory));
  testing::ExpectGolden("frame_shared.bin", encoded);
}

}  // namespace
}  // namespace feedmill
