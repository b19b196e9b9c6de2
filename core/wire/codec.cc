#include "core/wire/codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/wire/control_codec.h"
#include "core/wire/frame_codec.h"
#include "core/wire/packing.h"

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little,
              "buffers travel as they lie in memory");

using wire::Body;
using wire::Builder;
using wire::FieldReader;

using Checksum = uint64_t;
using Header = std::span<const std::byte>;

constexpr size_t kHeaderAlignment = 8;
constexpr size_t kMaxHeaderBytes = size_t{512} << 20;  // FlatBuffers: 2 GiB
constexpr size_t kKeptBytes = size_t{1} << 20;
constexpr size_t kMaxParts = 1 + 4 * 4096;
constexpr unsigned kMaxDepth = 16;
constexpr unsigned kMaxTables = 1 << 20;

Body PutBody(Builder& builder, const Message& message, Parts& parts) {
  return std::visit(
      [&]<class T>(const T& body) -> Body {
        if constexpr (std::is_same_v<T, Frame>) {
          return wire::PutFrame(builder, body, parts);
        } else if constexpr (std::is_same_v<T, Relay>) {
          parts.insert(parts.end(), body.parts.begin(), body.parts.end());
          return wire::Put(builder, body);
        } else {
          return wire::Put(builder, body);
        }
      },
      message);
}

template <class Table>
bool Verify(Header header) {
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t*>(header.data()), header.size(), kMaxDepth,
      kMaxTables);
  return verifier.VerifyBuffer<Table>(fb::EnvelopeIdentifier());
}

// Returns an aligned copy, valid until this thread's next call.
Header Aligned(const Buffer& header) {
  // Reused to avoid an allocation per message.
  thread_local std::vector<uint64_t> words;
  if (words.size() > kKeptBytes / sizeof(uint64_t)) words = {};
  words.resize(std::max(words.size(), header.size() / sizeof(uint64_t) + 1));
  __builtin_memcpy(words.data(), header.data(), header.size());
  return std::as_bytes(std::span(words)).first(header.size());
}

// Verifies the header's checksum and returns the aligned header without it.
absl::StatusOr<Header> CheckedHeader(const Parts& parts) {
  if (parts.empty() || parts.size() > kMaxParts) {
    return InvalidArgument("a message of {} parts; 1 to {} make sense",
                           parts.size(), kMaxParts);
  }
  const Buffer& part = parts.front();
  if (part.size() < sizeof(Checksum) ||
      part.size() > kMaxHeaderBytes + sizeof(Checksum)) {
    return InvalidArgument("a header of {} bytes; at most {} are read",
                           part.size(), kMaxHeaderBytes);
  }
  const Buffer header = part.Slice(0, part.size() - sizeof(Checksum));
  Checksum sent = 0;
  __builtin_memcpy(&sent, part.data() + header.size(), sizeof(sent));
  const Checksum here = XXH3_64bits(header.data(), header.size());
  if (sent != here) {
    return InvalidArgument(
        "the header's checksum is {:016x}, not {:016x}: this is not a message "
        "of feedmill, or it was damaged on its way",
        here, sent);
  }
  const bool aligned =
      reinterpret_cast<uintptr_t>(header.data()) % kHeaderAlignment == 0;
  return aligned ? header.span() : Aligned(header);
}

absl::Status CheckPreamble(Header header, std::string_view cluster_id) {
  if (!Verify<fb::Preamble>(header)) {
    return InvalidArgument("a header of {} bytes is not a message of feedmill",
                           header.size());
  }
  const auto& preamble = *flatbuffers::GetRoot<fb::Preamble>(header.data());
  if (preamble.protocol_version() != kProtocolVersion) {
    const bool older = preamble.protocol_version() < kProtocolVersion;
    return FailedPrecondition(
        "the peer speaks protocol version {}, this process {}: upgrade {}, "
        "which is older; first the dispatcher, then workers, then readers",
        preamble.protocol_version(), kProtocolVersion,
        older ? "the peer" : "this process");
  }
  const std::string_view theirs(preamble.cluster_id()->data(),
                                preamble.cluster_id()->size());
  if (theirs != cluster_id) {
    return FailedPrecondition(
        "the peer belongs to cluster '{}', this process to '{}'", theirs,
        cluster_id);
  }
  return absl::OkStatus();
}

template <class T>
Message ReadAs(FieldReader& reader, const fb::Envelope& envelope) {
  return wire::Read(reader, *static_cast<const T*>(envelope.body()));
}

Message ReadBody(FieldReader& reader, const fb::Envelope& envelope,
                 const Parts& parts) {
  switch (envelope.body_type()) {
    case fb::Body::ClientHello:
      return ReadAs<fb::ClientHello>(reader, envelope);
    case fb::Body::ClientBeat:
      return ReadAs<fb::ClientBeat>(reader, envelope);
    case fb::Body::ClientAnswer:
      return ReadAs<fb::ClientAnswer>(reader, envelope);
    case fb::Body::ClientReject:
      return ReadAs<fb::ClientReject>(reader, envelope);
    case fb::Body::ClientLeave:
      return ReadAs<fb::ClientLeave>(reader, envelope);
    case fb::Body::WorkerBeat:
      return ReadAs<fb::WorkerBeat>(reader, envelope);
    case fb::Body::WorkerAnswer:
      return ReadAs<fb::WorkerAnswer>(reader, envelope);
    case fb::Body::StatusRequest:
      return ReadAs<fb::StatusRequest>(reader, envelope);
    case fb::Body::StatusReply:
      return ReadAs<fb::StatusReply>(reader, envelope);
    case fb::Body::Refusal:
      return ReadAs<fb::Refusal>(reader, envelope);
    case fb::Body::DatasetRequest:
      return ReadAs<fb::DatasetRequest>(reader, envelope);
    case fb::Body::DatasetReply:
      return ReadAs<fb::DatasetReply>(reader, envelope);
    case fb::Body::Grant:
      return ReadAs<fb::Grant>(reader, envelope);
    case fb::Body::Frame:
      return wire::ReadFrame(reader, *envelope.body_as_Frame(), parts);
    case fb::Body::ShareRequest:
      return ReadAs<fb::ShareRequest>(reader, envelope);
    case fb::Body::ShareOffer:
      return ReadAs<fb::ShareOffer>(reader, envelope);
    case fb::Body::Relay: {
      Message message = ReadAs<fb::Relay>(reader, envelope);
      std::get<Relay>(message).parts.assign(parts.begin() + 1, parts.end());
      return message;
    }
    case fb::Body::NONE:
      break;
  }
  reader.Refuse(InvalidArgument("message kind {} is not known",
                                static_cast<int>(envelope.body_type())));
  return Refusal{};
}

using PackedVector = wire::Offset<flatbuffers::Vector<const fb::PackedPart*>>;
using Checksums = wire::Offset<flatbuffers::Vector<uint64_t>>;

// Replaces parts by their packed form and records that in the header.
PackedVector PutPacked(Builder& builder, const PackedParts& packed,
                       Parts& parts) {
  if (packed.parts.empty()) return 0;
  for (const PackedPart& part : packed.parts) {
    FM_CHECK(part.part < parts.size() && part.size == parts[part.part].size());
    parts[part.part] = part.bytes;
  }
  return wire::PutStructs(builder, packed.parts, [](const PackedPart& part) {
    return fb::PackedPart(part.part, wire::ToWire(part.codec), part.size);
  });
}

Checksums PutChecksums(Builder& builder, const Parts& parts) {
  std::vector<uint64_t> sums;
  for (size_t k = 1; k < parts.size(); ++k) {
    sums.push_back(XXH3_64bits(parts[k].data(), parts[k].size()));
  }
  return builder.CreateVector(sums);
}

absl::Status CheckSums(FieldReader& reader, const Parts& parts,
                       const flatbuffers::Vector<uint64_t>& sums) {
  if (!reader.IsAligned<uint64_t>(sums)) return reader.error();
  if (sums.size() + 1 != parts.size()) {
    return InvalidArgument("{} checksums of {} parts", sums.size(),
                           parts.size() - 1);
  }
  for (size_t k = 1; k < parts.size(); ++k) {
    if (sums.Get(static_cast<flatbuffers::uoffset_t>(k - 1)) !=
        XXH3_64bits(parts[k].data(), parts[k].size())) {
      return InvalidArgument(
          "the checksum of part {} is another: it was damaged on its way", k);
    }
  }
  return absl::OkStatus();
}

// Replaces packed parts by their unpacked form. Returns the last part's codec.
absl::StatusOr<LinkCompression> Unpack(
    FieldReader& reader, const flatbuffers::Vector<const fb::PackedPart*>& list,
    Parts& parts) {
  LinkCompression codec = LinkCompression::kNone;
  if (!reader.IsAligned<fb::PackedPart>(list)) return reader.error();
  uint64_t unpacked = 0;
  uint32_t last = 0;
  for (const fb::PackedPart* packed : list) {
    codec = wire::FromWire(reader, packed->codec(), /*may_wish=*/false);
    FM_RETURN_IF_ERROR(reader.error());
    if (codec == LinkCompression::kNone || packed->part() <= last ||
        packed->part() >= parts.size() ||
        packed->size() > kUnpackedMax - unpacked) {
      return InvalidArgument(
          "the packed part {} is not one of {}, in order, which together make "
          "at most {} bytes",
          packed->part(), parts.size(), kUnpackedMax);
    }
    last = packed->part();
    unpacked += packed->size();
    FM_ASSIGN_OR_RETURN(parts[last],
                        UnpackPart(codec, parts[last], packed->size()));
  }
  return codec;
}

// Removes the parts that `lender` lends from `parts` and records them.
wire::Offset<fb::SharedParts> PutShared(Builder& builder, PartLender& lender,
                                        Parts& parts) {
  const SharedParts shared = lender.Lend(parts);
  for (auto it = shared.parts.rbegin(); it != shared.parts.rend(); ++it) {
    parts.erase(parts.begin() + it->part);
  }
  const auto written =
      wire::PutStructs(builder, shared.parts, [](const SharedPart& part) {
        return fb::SharedPart(part.part, part.entry, part.offset, part.size);
      });
  return fb::CreateSharedParts(builder, shared.link, shared.sequence, written);
}

// Merges the parts that were sent with the shared ones.
absl::StatusOr<Parts> WholeParts(FieldReader& reader, const Parts& sent,
                                 const fb::SharedParts& wire_shared,
                                 PartBorrower* borrower) {
  SharedParts shared{wire_shared.link(), wire_shared.sequence(), {}};
  shared.parts = reader.Structs(wire_shared.parts(), [](const fb::SharedPart&
                                                            part) {
    return SharedPart{part.part(), part.entry(), part.offset(), part.size()};
  });
  FM_RETURN_IF_ERROR(reader.error());
  if (borrower == nullptr) {
    return InvalidArgument(
        "parts of a message lie in memory that this process does not share");
  }
  // Borrow even if later checks fail: that returns the entries to the lender.
  FM_ASSIGN_OR_RETURN(const std::vector<Buffer> borrowed,
                      borrower->Borrow(shared));
  const size_t count = sent.size() + borrowed.size();
  if (count > kMaxParts) {
    return InvalidArgument("a message of {} parts; 1 to {} make sense", count,
                           kMaxParts);
  }
  Parts whole;
  whole.reserve(count);
  size_t next = 0;
  for (size_t k = 0; k < borrowed.size(); ++k) {
    while (whole.size() < shared.parts[k].part && next < sent.size()) {
      whole.push_back(sent[next++]);
    }
    if (whole.empty() || whole.size() != shared.parts[k].part) {
      return InvalidArgument("the shared part {} is not one of {}, in order",
                             shared.parts[k].part, count);
    }
    whole.push_back(borrowed[k]);
  }
  whole.insert(whole.end(), sent.begin() + static_cast<ptrdiff_t>(next),
               sent.end());
  return whole;
}

// Checks that this kind of message may have this number of parts, and shared
// parts, packed parts or checksums.
absl::Status CheckParts(const fb::Envelope& envelope, size_t parts) {
  if (envelope.body_type() == fb::Body::Frame) {
    if (envelope.shared() == nullptr || envelope.packed() == nullptr) {
      return absl::OkStatus();
    }
    return InvalidArgument("parts of one message are shared and packed");
  }
  const bool relays = envelope.body_type() == fb::Body::Relay;
  if (relays != (parts > 1) || envelope.shared() != nullptr ||
      envelope.packed() != nullptr || envelope.checksums() != nullptr) {
    return InvalidArgument("{} parts after a header that needs {}", parts - 1,
                           relays ? "some, as they are" : "none");
  }
  return absl::OkStatus();
}

Buffer WithChecksum(std::span<const uint8_t> header) {
  const Checksum sum = XXH3_64bits(header.data(), header.size());
  const size_t size = header.size() + sizeof(sum);
  const auto bytes = std::make_shared_for_overwrite<std::byte[]>(size);
  __builtin_memcpy(bytes.get(), header.data(), header.size());
  __builtin_memcpy(bytes.get() + header.size(), &sum, sizeof(sum));
  return {bytes, bytes.get(), size};
}

}  // namespace

Parts Encode(const Message& message, std::string_view cluster_id,
             PartLender* lender) {
  // Reused to avoid growing it for each message.
  thread_local Builder builder;
  builder.Clear();
  Parts parts(1);
  const auto cluster =
      builder.CreateString(cluster_id.data(), cluster_id.size());
  const Body body = PutBody(builder, message, parts);
  wire::Offset<fb::SharedParts> shared = 0;
  PackedVector packed = 0;
  Checksums checksums = 0;
  if (const auto* frame = std::get_if<Frame>(&message)) {
    if (lender != nullptr) {
      shared = PutShared(builder, *lender, parts);
    } else if (frame->packed != nullptr) {
      packed = PutPacked(builder, *frame->packed, parts);
    }
    if (frame->checksums) checksums = PutChecksums(builder, parts);
  }
  fb::FinishEnvelopeBuffer(
      builder, fb::CreateEnvelope(builder, kProtocolVersion, cluster, body.type,
                                  body.offset, shared, packed, checksums));
  const size_t size = builder.GetSize();
  parts[0] = WithChecksum({builder.GetBufferPointer(), size});
  if (size > kKeptBytes) builder.Reset();
  return parts;
}

absl::StatusOr<Message> Decode(const Parts& parts, std::string_view cluster_id,
                               PartBorrower* borrower) {
  FM_ASSIGN_OR_RETURN(const Header header, CheckedHeader(parts));
  FM_RETURN_IF_ERROR(CheckPreamble(header, cluster_id));
  if (!Verify<fb::Envelope>(header)) {
    return InvalidArgument("a header of {} bytes breaks the schema",
                           header.size());
  }
  const auto& envelope = *fb::GetEnvelope(header.data());
  FM_RETURN_IF_ERROR(CheckParts(envelope, parts.size()));
  FieldReader reader(header.size());
  if (envelope.checksums() != nullptr) {
    FM_RETURN_IF_ERROR(CheckSums(reader, parts, *envelope.checksums()));
  }
  absl::StatusOr<Parts> whole = parts;
  if (envelope.shared() != nullptr) {
    whole = WholeParts(reader, parts, *envelope.shared(), borrower);
  }
  FM_RETURN_IF_ERROR(whole.status());
  LinkCompression came = LinkCompression::kNone;
  if (envelope.packed() != nullptr) {
    FM_ASSIGN_OR_RETURN(came, Unpack(reader, *envelope.packed(), *whole));
  }
  Message message = ReadBody(reader, envelope, *whole);
  FM_RETURN_IF_ERROR(reader.error());
  if (auto* frame = std::get_if<Frame>(&message)) {
    frame->came = came;
    for (const Buffer& part : parts) frame->wire_bytes += part.size();
    frame->checksums = envelope.checksums() != nullptr;
  }
  return message;
}

}  // namespace feedmill
