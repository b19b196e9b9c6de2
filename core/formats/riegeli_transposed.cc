#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/formats/riegeli_chunk.h"

namespace feedmill {
namespace {

// Wire types of protocol buffers; kEnd is the end of a nested message here.
enum class ProtoWireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
  kEnd = 6,
};
constexpr uint32_t kTagMin = 8;  // smaller numbers are not tags
constexpr uint32_t kNoTag = 0;
constexpr uint32_t kBytesRecordTag = 1;
constexpr uint32_t kOpenTag = 2;
constexpr uint32_t kRecordTag = 3;
// A subtype of a varint is its number of bytes less one, or its value.
constexpr uint8_t kVarintDataMax = 10;
constexpr uint8_t kVarintValueMax = 127;
constexpr size_t kTagBytesMax = 5;

ProtoWireType WireTypeOf(uint32_t tag) {
  return static_cast<ProtoWireType>(tag % 8);
}

// The part of a record that a node writes. A chunk is written from its end to
// its beginning.
enum class NodeAction : uint8_t {
  kNothing,
  kTag,          // the tag, with a value of one byte if there is one
  kVarint,       // a number, and the tag in front of it
  kFixed,        // the same
  kText,         // a length and as many bytes, and the tag in front of them
  kClose,        // the end of a nested message
  kOpen,         // the length and the tag of a nested message, in front of it
  kRecord,       // the beginning of a record
  kBytesRecord,  // a record that is no protocol buffer
};

struct TransposedNode {
  NodeAction action = NodeAction::kNothing;
  bool implicit = false;  // the next node follows without a transition
  uint8_t tag_bytes = 0;
  uint8_t data_bytes = 0;
  std::array<char, kTagBytesMax + 1> tag{};
  uint32_t buffer = 0;  // of the data
  uint32_t next = 0;

  std::string_view tag_text() const { return {tag.data(), tag_bytes}; }
  bool has_buffer() const {
    return action == NodeAction::kVarint || action == NodeAction::kFixed ||
           action == NodeAction::kText || action == NodeAction::kBytesRecord;
  }
};

std::optional<uint32_t> TakeU32(std::string_view& bytes) {
  const auto value = TakeLeb128(bytes);
  if (!value || *value > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*value);
}

std::optional<std::string_view> TakeText(std::string_view& bytes,
                                         uint64_t size) {
  if (size > bytes.size()) return std::nullopt;
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

void SetTag(uint32_t tag, TransposedNode& node) {
  std::string text;
  PutLeb128(text, tag);
  std::copy(text.begin(), text.end(), node.tag.begin());
  node.tag_bytes = static_cast<uint8_t>(text.size());
}

// Sets action and tag of a node, except its buffer. `subtype`: of a varint.
// Returns false for a tag that no node has.
bool SetAction(uint32_t tag, uint8_t subtype, TransposedNode& node) {
  switch (tag) {
    case kNoTag:
      return true;
    case kBytesRecordTag:
      node.action = NodeAction::kBytesRecord;
      return true;
    case kOpenTag:
      node.action = NodeAction::kOpen;
      return true;
    case kRecordTag:
      node.action = NodeAction::kRecord;
      return true;
    default:
      break;
  }
  if (tag < kTagMin) return false;
  SetTag(tag, node);
  switch (WireTypeOf(tag)) {
    case ProtoWireType::kVarint:
      if (subtype > kVarintDataMax + kVarintValueMax) return false;
      node.action =
          subtype < kVarintDataMax ? NodeAction::kVarint : NodeAction::kTag;
      if (subtype < kVarintDataMax) {
        node.data_bytes = subtype + 1;
      } else {
        node.tag[node.tag_bytes++] =
            static_cast<char>(subtype - kVarintDataMax);
      }
      return true;
    case ProtoWireType::kFixed64:
    case ProtoWireType::kFixed32:
      node.action = NodeAction::kFixed;
      node.data_bytes = WireTypeOf(tag) == ProtoWireType::kFixed64 ? 8 : 4;
      return true;
    case ProtoWireType::kDelimited:
      node.action = NodeAction::kText;
      return true;
    case ProtoWireType::kStartGroup:
    case ProtoWireType::kEndGroup:
      node.action = NodeAction::kTag;
      return true;
    case ProtoWireType::kEnd:
      node.action = NodeAction::kClose;
      SetTag(tag - static_cast<uint32_t>(ProtoWireType::kEnd) +
                 static_cast<uint32_t>(ProtoWireType::kDelimited),
             node);
      return true;
  }
  return false;
}

// True if nodes that follow each other without a transition form a loop.
bool HasImplicitLoop(const std::vector<TransposedNode>& nodes) {
  std::vector<uint32_t> walks(nodes.size(), 0);  // the walk that came by
  uint32_t walk = 0;
  for (size_t first = 0; first < nodes.size(); ++first) {
    ++walk;
    size_t at = first;
    while (walks[at] == 0) {
      walks[at] = walk;
      if (!nodes[at].implicit) break;
      at = nodes[at].next;
      if (walks[at] == walk) return true;
    }
  }
  return false;
}

// The parts of a chunk, decompressed: buffers of data, and a state machine that
// puts them together.
class Transposed {
 public:
  Transposed(const RiegeliChunk& chunk, RiegeliDecompressor& decompressor)
      : chunk_(chunk),
        decompressor_(decompressor),
        bytes_max_(16 * (chunk.decoded_bytes + chunk.records) + (1 << 16)) {}

  absl::Status Parse();
  // Writes the records backwards, so that they end with `out`. Sets `ends` to
  // the end of each, as distances from the end of `out`.
  absl::Status Write(std::span<char> out, std::vector<uint64_t>& ends);

 private:
  struct Open {  // a nested message whose end is written
    uint64_t end = 0;
    const TransposedNode* node = nullptr;
  };

  absl::Status Decompress(std::string_view packed, std::string& out);
  absl::Status ParseBuffers(std::string_view& header, std::string_view& data);
  absl::Status ParseNodes(std::string_view& header);
  absl::Status Act(const TransposedNode& node, std::vector<uint64_t>& ends);
  bool Put(std::string_view bytes);
  bool PutVarint(const TransposedNode& node);
  bool PutText(const TransposedNode& node);
  bool PutOpen();
  bool PutBytesRecord(const TransposedNode& node);
  bool EndRecord(std::vector<uint64_t>& ends);

  const RiegeliChunk& chunk_;
  RiegeliDecompressor& decompressor_;
  const uint64_t bytes_max_;  // of a decompressed part
  uint64_t bytes_ = 0;        // of all decompressed parts
  RiegeliCompression compression_ = RiegeliCompression::kNone;

  std::string header_;
  std::vector<std::string> buckets_;       // hold the buffers
  std::vector<std::string_view> buffers_;  // the unread rest of each
  std::vector<TransposedNode> nodes_;
  uint32_t first_ = 0;
  std::string transitions_;

  std::span<char> left_{};  // to be written
  uint64_t written_ = 0;
  std::vector<Open> open_;
};

absl::Status TransposedDamage(std::string_view part) {
  return DataLoss("{} of its transposed records are damaged", part);
}

absl::Status Transposed::Decompress(std::string_view packed, std::string& out) {
  FM_ASSIGN_OR_RETURN(const RiegeliBuffer buffer,
                      ParseRiegeliBuffer(compression_, packed));
  if (buffer.size > bytes_max_ - bytes_) {
    return DataLoss("its transposed records would take too much memory");
  }
  bytes_ += buffer.size;
  out.resize(buffer.size);
  return decompressor_.Decompress(compression_, buffer, out);
}

absl::Status Transposed::Parse() {
  std::string_view data = chunk_.data;
  if (data.empty()) return TransposedDamage("the parts");
  compression_ = static_cast<RiegeliCompression>(data.front());
  data.remove_prefix(1);
  const auto header_bytes = TakeLeb128(data);
  const auto packed =
      header_bytes ? TakeText(data, *header_bytes) : std::nullopt;
  if (!packed) return TransposedDamage("the parts");
  FM_RETURN_IF_ERROR(Decompress(*packed, header_));
  std::string_view header = header_;
  FM_RETURN_IF_ERROR(ParseBuffers(header, data));
  FM_RETURN_IF_ERROR(ParseNodes(header));
  return Decompress(data, transitions_);
}

absl::Status Transposed::ParseBuffers(std::string_view& header,
                                      std::string_view& data) {
  const auto buckets = TakeU32(header);
  const auto buffers = TakeU32(header);
  if (!buckets || !buffers || *buckets > header.size() ||
      *buffers > header.size() || (*buckets == 0 && *buffers > 0)) {
    return TransposedDamage("the buffers");
  }
  buckets_.resize(*buckets);
  for (std::string& bucket : buckets_) {
    const auto size = TakeLeb128(header);
    const auto packed = size ? TakeText(data, *size) : std::nullopt;
    if (!packed) return TransposedDamage("the buffers");
    FM_RETURN_IF_ERROR(Decompress(*packed, bucket));
  }
  size_t next = 0;
  std::string_view bucket;
  for (uint32_t k = 0; k < *buffers; ++k) {
    while (bucket.empty() && next < buckets_.size()) bucket = buckets_[next++];
    const auto size = TakeLeb128(header);
    const auto buffer = size ? TakeText(bucket, *size) : std::nullopt;
    if (!buffer) return TransposedDamage("the buffers");
    buffers_.push_back(*buffer);
  }
  return absl::OkStatus();
}

absl::Status Transposed::ParseNodes(std::string_view& header) {
  const auto size = TakeU32(header);
  if (!size || *size > header.size()) return TransposedDamage("the nodes");
  std::vector<uint32_t> tags(*size);
  nodes_.resize(*size);
  size_t subtypes = 0;
  for (uint32_t& tag : tags) {
    const auto number = TakeU32(header);
    if (!number) return TransposedDamage("the nodes");
    tag = *number;
    if (tag >= kTagMin && WireTypeOf(tag) == ProtoWireType::kVarint) ++subtypes;
  }
  for (TransposedNode& node : nodes_) {
    const auto next = TakeU32(header);
    if (!next || *next >= 2 * uint64_t{*size})
      return TransposedDamage("the nodes");
    node.implicit = *next >= *size;
    node.next = *next % *size;
  }
  auto subtype = TakeText(header, subtypes);
  if (!subtype) return TransposedDamage("the nodes");
  for (size_t k = 0; k < nodes_.size(); ++k) {
    TransposedNode& node = nodes_[k];
    uint8_t own = 0;
    if (tags[k] >= kTagMin && WireTypeOf(tags[k]) == ProtoWireType::kVarint) {
      own = static_cast<uint8_t>(subtype->front());
      subtype->remove_prefix(1);
    }
    if (!SetAction(tags[k], own, node)) return TransposedDamage("the nodes");
    if (!node.has_buffer()) continue;
    const auto buffer = TakeU32(header);
    if (!buffer || *buffer >= buffers_.size())
      return TransposedDamage("the nodes");
    node.buffer = *buffer;
  }
  const auto first = TakeU32(header);
  if (!first || *first >= *size || !header.empty() || HasImplicitLoop(nodes_)) {
    return TransposedDamage("the nodes");
  }
  first_ = *first;
  return absl::OkStatus();
}

// Writes in front of what is written.
bool Transposed::Put(std::string_view bytes) {
  if (bytes.size() > left_.size()) return false;
  if (!bytes.empty()) {
    std::memcpy(left_.data() + left_.size() - bytes.size(), bytes.data(),
                bytes.size());
  }
  left_ = left_.first(left_.size() - bytes.size());
  written_ += bytes.size();
  return true;
}

// The bytes of a number lack their highest bits.
bool Transposed::PutVarint(const TransposedNode& node) {
  const auto data = TakeText(buffers_[node.buffer], node.data_bytes);
  if (!data) return false;
  std::array<char, kVarintDataMax> bytes;
  for (size_t k = 0; k < data->size(); ++k) {
    const bool last = k + 1 == data->size();
    bytes[k] =
        static_cast<char>(static_cast<uint8_t>((*data)[k]) | (last ? 0 : 0x80));
  }
  return Put({bytes.data(), data->size()}) && Put(node.tag_text());
}

bool Transposed::PutText(const TransposedNode& node) {
  std::string_view& buffer = buffers_[node.buffer];
  std::string_view text = buffer;
  const auto size = TakeU32(text);
  if (!size || *size > text.size()) return false;
  const size_t length_bytes = buffer.size() - text.size();
  return Put(*TakeText(buffer, length_bytes + *size)) && Put(node.tag_text());
}

bool Transposed::PutOpen() {
  if (open_.empty()) return false;
  const Open open = open_.back();
  open_.pop_back();
  std::string length;
  PutLeb128(length, written_ - open.end);
  return Put(length) && Put(open.node->tag_text());
}

bool Transposed::EndRecord(std::vector<uint64_t>& ends) {
  if (!open_.empty() || ends.size() == chunk_.records) return false;
  ends.push_back(written_);
  return true;
}

// The last buffer has the sizes of these records.
bool Transposed::PutBytesRecord(const TransposedNode& node) {
  const auto size = TakeU32(buffers_.back());
  const auto record =
      size ? TakeText(buffers_[node.buffer], *size) : std::nullopt;
  return record && Put(*record);
}

absl::Status Transposed::Act(const TransposedNode& node,
                             std::vector<uint64_t>& ends) {
  const auto done = [&] {
    switch (node.action) {
      case NodeAction::kNothing:
        return true;
      case NodeAction::kTag:
        return Put(node.tag_text());
      case NodeAction::kVarint:
        return PutVarint(node);
      case NodeAction::kFixed: {
        const auto data = TakeText(buffers_[node.buffer], node.data_bytes);
        return data && Put(*data) && Put(node.tag_text());
      }
      case NodeAction::kText:
        return PutText(node);
      case NodeAction::kClose:
        if (open_.size() > left_.size()) return false;
        open_.push_back({written_, &node});
        return true;
      case NodeAction::kOpen:
        return PutOpen();
      case NodeAction::kRecord:
        return EndRecord(ends);
      case NodeAction::kBytesRecord:
        return PutBytesRecord(node) && EndRecord(ends);
    }
    return false;
  };
  return done() ? absl::OkStatus() : TransposedDamage("the fields");
}

absl::Status Transposed::Write(std::span<char> out,
                               std::vector<uint64_t>& ends) {
  left_ = out;
  // A transition has four steps at most, and sound chunks have few that write
  // nothing.
  uint64_t steps = 64 * (transitions_.size() + out.size() + chunk_.records + 1);
  std::string_view transitions = transitions_;
  size_t at = first_;
  uint32_t repeats = nodes_[at].implicit ? 1 : 0;
  while (true) {
    FM_RETURN_IF_ERROR(Act(nodes_[at], ends));
    at = nodes_[at].next;
    if (repeats == 0) {
      if (transitions.empty()) break;
      const auto transition = static_cast<uint8_t>(transitions.front());
      transitions.remove_prefix(1);
      at += transition >> 2;
      if (at >= nodes_.size()) return TransposedDamage("the transitions");
      repeats = (transition & 3U) + (nodes_[at].implicit ? 1U : 0U);
    } else if (!nodes_[at].implicit) {
      --repeats;
    }
    if (--steps == 0) return TransposedDamage("the transitions");
  }
  if (!open_.empty() || ends.size() != chunk_.records || !left_.empty() ||
      ends.back() != written_) {
    return TransposedDamage("the fields");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeRiegeliTransposed(const RiegeliChunk& chunk,
                                     RiegeliDecompressor& decompressor,
                                     std::vector<uint64_t>& ends,
                                     BufferBuilder& values) {
  Transposed transposed(chunk, decompressor);
  FM_RETURN_IF_ERROR(transposed.Parse());
  std::vector<uint64_t> backwards;
  const std::span<char> out(
      reinterpret_cast<char*>(values.Extend(chunk.decoded_bytes)),
      chunk.decoded_bytes);
  FM_RETURN_IF_ERROR(transposed.Write(out, backwards));
  for (size_t k = backwards.size() - 1; k-- > 0;) {
    ends.push_back(chunk.decoded_bytes - backwards[k]);
  }
  ends.push_back(chunk.decoded_bytes);
  return absl::OkStatus();
}

}  // namespace feedmill
