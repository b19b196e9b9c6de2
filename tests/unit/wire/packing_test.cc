// Frames with compressed parts or with checksums.

#include "core/wire/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <random>
#include <string>

#include "core/chunk/order_hash.h"
#include "core/wire/codec.h"
#include "schemas/envelope_generated.h"
#include "tests/unit/wire/golden_file.h"
#include "tests/unit/wire/sample_messages.h"

namespace feedmill {
namespace {

constexpr LinkCompression kCodecs[] = {LinkCompression::kLz4,
                                       LinkCompression::kZstd};

Piece PieceOf(Chunk chunk) {
  Piece piece;
  piece.end = {chunk.rows, 0};
  piece.chunk = std::move(chunk);
  return piece;
}
Piece Wide() { return PieceOf(WideChunk(64)); }
// Incompressible data.
Piece Noise() {
  Chunk chunk = WideChunk(64);
  std::mt19937 draw(1);
  std::vector<uint8_t> values(64 << 10);
  for (uint8_t& value : values) value = static_cast<uint8_t>(draw());
  chunk.columns[0].values =
      Buffer::CopyOf(std::as_bytes(std::span(std::as_const(values))));
  return PieceOf(std::move(chunk));
}

Frame PackedFrame(const Piece& piece, LinkCompression codec) {
  Frame frame = FrameOf(piece);
  frame.packed = PackParts(piece, codec);
  return frame;
}
std::string HashOf(const Piece& piece) {
  OrderHash hash;
  hash.Add(piece.chunk);
  return hash.Hex();
}
size_t BytesAfterHeader(const Parts& parts) {
  size_t bytes = 0;
  for (size_t k = 1; k < parts.size(); ++k) bytes += parts[k].size();
  return bytes;
}
Buffer Changed(const Buffer& buffer, size_t at) {
  std::string bytes(reinterpret_cast<const char*>(buffer.data()),
                    buffer.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return Buffer::CopyOf(std::as_bytes(std::span(std::as_const(bytes))));
}

// Returns the message with other entries for packed parts, and a valid
// checksum.
using Entries = std::vector<fb::PackedPart>;
Parts WithEntries(const Parts& parts, const Entries& entries) {
  Parts changed = parts;
  std::string header(reinterpret_cast<const char*>(parts[0].data()),
                     parts[0].size() - 8);
  auto* packed = const_cast<flatbuffers::Vector<const fb::PackedPart*>*>(
      fb::GetEnvelope(header.data())->packed());
  EXPECT_EQ(packed->size(), entries.size());
  for (flatbuffers::uoffset_t k = 0; k < packed->size(); ++k) {
    std::memcpy(const_cast<fb::PackedPart*>(packed->Get(k)), &entries[k],
                sizeof(fb::PackedPart));
  }
  const uint64_t checksum = XXH3_64bits(header.data(), header.size());
  header.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  changed[0] = Buffer::CopyOf(std::as_bytes(std::span(std::as_const(header))));
  return changed;
}

TEST(Packing, UnpackedPartsAreUnchanged) {
  for (const LinkCompression codec : kCodecs) {
    for (const Piece& piece : {Wide(), Noise(), PieceOf(RaggedChunk())}) {
      const auto decoded =
          Decode(Encode(PackedFrame(piece, codec), kCluster), kCluster);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(HashOf(std::get<Frame>(*decoded).piece), HashOf(piece));
    }
  }
}

TEST(Packing, PartsThatShrinkAreSentPacked) {
  for (const LinkCompression codec : kCodecs) {
    const Frame frame = PackedFrame(Wide(), codec);
    const Parts parts = Encode(frame, kCluster);
    EXPECT_LT(BytesAfterHeader(parts), frame.packed->raw_bytes / 8);
    EXPECT_EQ(BytesAfterHeader(parts), frame.packed->sent_bytes);
    const auto back = std::get<Frame>(*Decode(parts, kCluster));
    EXPECT_NE(back.came, LinkCompression::kNone);
  }
}

TEST(Packing, PartsThatDoNotShrinkAreSentUnpacked) {
  for (const LinkCompression codec : kCodecs) {
    const Frame frame = PackedFrame(Noise(), codec);
    for (const PackedPart& part : frame.packed->parts) EXPECT_LT(part.part, 2u);
    const Parts parts = Encode(frame, kCluster);
    EXPECT_EQ(parts.back().size(), size_t{64} << 10);
  }
}

TEST(Packing, ZeroesBecomeNoMoreThanAReceiverTakes) {
  Piece piece = Wide();
  const std::vector<uint8_t> zeroes(64 << 10);
  piece.chunk.columns[0].values =
      Buffer::CopyOf(std::as_bytes(std::span(zeroes)));
  const Frame frame = PackedFrame(piece, LinkCompression::kZstd);
  for (const PackedPart& part : frame.packed->parts) {
    EXPECT_LE(part.size / kPackedRatioMax, part.bytes.size());
  }
  EXPECT_TRUE(Decode(Encode(frame, kCluster), kCluster).ok());
}

TEST(Packing, PartsThatAreSharedAreNotPackedToo) {
  class Nothing : public PartLender {
    SharedParts Lend(std::span<const Buffer>) override { return {1, 1, {}}; }
  } lender;
  const Frame frame = PackedFrame(Wide(), LinkCompression::kLz4);
  const Parts parts = Encode(frame, kCluster, &lender);
  EXPECT_EQ(fb::GetEnvelope(parts[0].data())->packed(), nullptr);
}

TEST(Packing, DamagedPartsAreRefused) {
  for (const LinkCompression codec : kCodecs) {
    const Parts good = Encode(PackedFrame(Wide(), codec), kCluster);
    for (size_t part = 1; part < good.size(); ++part) {
      Parts cut = good;
      cut[part] = cut[part].Slice(0, cut[part].size() - 1);
      EXPECT_FALSE(Decode(cut, kCluster).ok());
      for (size_t at = 0; at < good[part].size(); ++at) {
        Parts bad = good;
        bad[part] = Changed(good[part], at);
        const auto decoded = Decode(bad, kCluster);  // refused or sound
        if (decoded.ok()) {
          EXPECT_TRUE(std::get<Frame>(*decoded).piece.Validate().ok());
        }
      }
    }
  }
}

TEST(Packing, SizesAreBoundedBeforeAnythingIsUnpacked) {
  const Buffer packed =
      PackedFrame(Wide(), LinkCompression::kZstd).packed->parts[0].bytes;
  for (const uint64_t size :
       {uint64_t{0}, packed.size() * (kPackedRatioMax + 1), kUnpackedMax + 1,
        ~uint64_t{0}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        UnpackPart(LinkCompression::kZstd, packed, size).status()))
        << size;
  }
  const Parts parts =
      Encode(PackedFrame(Wide(), LinkCompression::kZstd), kCluster);
  const auto& list = *fb::GetEnvelope(parts[0].data())->packed();
  Entries good;
  for (const fb::PackedPart* part : list) good.push_back(*part);
  ASSERT_FALSE(good.empty());
  EXPECT_TRUE(Decode(WithEntries(parts, good), kCluster).ok());
  const fb::PackedPart first = good[0];
  for (const fb::PackedPart bad :
       {fb::PackedPart(0, first.codec(), first.size()),
        fb::PackedPart(99, first.codec(), first.size()),
        fb::PackedPart(first.part(), fb::LinkCompression::None, first.size()),
        fb::PackedPart(first.part(), fb::LinkCompression::Auto, first.size()),
        fb::PackedPart(first.part(), fb::LinkCompression::Unknown,
                       first.size()),
        fb::PackedPart(first.part(), first.codec(), first.size() - 1),
        fb::PackedPart(first.part(), first.codec(), first.size() + 1),
        fb::PackedPart(first.part(), first.codec(), uint64_t{1} << 40)}) {
    Entries entries = good;
    entries[0] = bad;
    EXPECT_FALSE(Decode(WithEntries(parts, entries), kCluster).ok());
  }
}

TEST(Checksums, EveryDamagedByteOfAPartIsNoticed) {
  Frame frame = FrameOf(Wide());
  frame.checksums = true;
  const Parts good = Encode(frame, kCluster);
  ASSERT_TRUE(Decode(good, kCluster).ok());
  EXPECT_TRUE(std::get<Frame>(*Decode(good, kCluster)).checksums);
  for (size_t part = 1; part < good.size(); ++part) {
    for (size_t at = 0; at < good[part].size(); at += 97) {
      Parts bad = good;
      bad[part] = Changed(good[part], at);
      EXPECT_THAT(std::string(Decode(bad, kCluster).status().message()),
                  ::testing::HasSubstr("checksum"));
    }
  }
  Parts fewer = good;
  fewer.pop_back();
  EXPECT_FALSE(Decode(fewer, kCluster).ok());
}

TEST(Checksums, AreOfThePartsAsTheyAreSent) {
  Frame frame = PackedFrame(Wide(), LinkCompression::kLz4);
  frame.checksums = true;
  const Parts parts = Encode(frame, kCluster);
  const auto& sums = *fb::GetEnvelope(parts[0].data())->checksums();
  ASSERT_EQ(sums.size() + 1, parts.size());
  EXPECT_EQ(sums.Get(0), XXH3_64bits(parts[1].data(), parts[1].size()));
  EXPECT_TRUE(Decode(parts, kCluster).ok());
}

TEST(Relays, CarryAMessageUnread) {
  const Parts inner = Encode(FrameOf(Wide()), kCluster);
  const Relay relay{WorkerId("tcp://10.0.0.1:7000"), std::string("\0\1id", 4),
                    inner};
  const auto decoded = Decode(Encode(relay, kCluster), kCluster);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto& back = std::get<Relay>(*decoded);
  EXPECT_EQ(back.worker, relay.worker);
  EXPECT_EQ(back.client, relay.client);
  ASSERT_EQ(back.parts.size(), inner.size());
  for (size_t k = 0; k < inner.size(); ++k) {
    EXPECT_TRUE(std::ranges::equal(back.parts[k].span(), inner[k].span()));
  }
  EXPECT_FALSE(
      Decode(Encode(Relay{relay.worker, "", {}}, kCluster), kCluster).ok());
}

// Bytes of this version. LZ4's are as in Debian 12; only their unpacked
// content matters.
TEST(Golden, APackedFrameIsTheseBytes) {
  Frame frame = PackedFrame(Wide(), LinkCompression::kLz4);
  frame.checksums = true;
  std::string encoded;
  for (const Buffer& part : Encode(frame, kCluster)) {
    const uint64_t size = part.size();
    encoded.append(reinterpret_cast<const char*>(&size), sizeof(size));
    encoded.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  testing::ExpectGolden("frame_packed.bin", encoded);
}

}  // namespace
}  // namespace feedmill
