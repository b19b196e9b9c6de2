#include "client/read_token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/pipeline/row_groups.h"
#include "core/wire/codec.h"

namespace feedmill {
namespace {

constexpr std::string_view kMagic = "feedmill token 1\n";
constexpr size_t kChecksumBytes = 8;
constexpr size_t kRowsPerByte = 64;       // that a token can hold
constexpr char kHeldCluster[] = "token";  // of the frames that hold rows

// Numbers are LEB128, texts come after their length.
class TokenWriter {
 public:
  void Put(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      text_ += static_cast<char>(value | 0x80);
    }
    text_ += static_cast<char>(value);
  }
  void Put(std::string_view bytes) {
    Put(uint64_t{bytes.size()});
    text_ += bytes;
  }
  void Put(Cursor cursor) {
    Put(cursor.p);
    Put(cursor.i);
  }
  void Put(const StageState::Held& held) {
    Frame frame;
    frame.piece.chunk = held.chunk;
    frame.piece.end = {held.chunk.rows, 0};
    const Parts parts = Encode(Message(std::move(frame)), kHeldCluster);
    Put(uint64_t{parts.size()});
    for (const Buffer& part : parts) {
      Put(std::string_view(reinterpret_cast<const char*>(part.data()),
                           part.size()));
    }
    Put(uint64_t{held.counters.size()});
    for (const Cursor& counter : held.counters) Put(counter);
    Put(uint64_t{held.passes.size()});
    for (const uint64_t pass : held.passes) Put(pass);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

class TokenReader {
 public:
  explicit TokenReader(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool done() const { return good_ && rest_.empty(); }

  uint64_t Number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  // A number of things of at least a byte each.
  uint64_t Count() {
    const uint64_t count = Number();
    if (count <= rest_.size()) return count;
    good_ = false;
    return 0;
  }
  std::string_view Text() {
    const uint64_t size = Count();
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return text;
  }
  Cursor ReadCursor() {
    const uint64_t p = Number();
    return {p, Number()};
  }
  StageState::Held ReadHeld() {
    StageState::Held held;
    Parts parts;
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      const std::string_view part = Text();
      parts.push_back(
          Buffer::CopyOf(std::as_bytes(std::span(part.data(), part.size()))));
    }
    const absl::StatusOr<Message> message = Decode(parts, kHeldCluster);
    const auto* frame = message.ok() ? std::get_if<Frame>(&*message) : nullptr;
    if (frame == nullptr) {
      good_ = false;
      return held;
    }
    held.chunk = frame->piece.chunk;
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      held.counters.push_back(ReadCursor());
    }
    for (uint64_t left = Count(); left > 0 && good_; --left) {
      held.passes.push_back(Number());
    }
    return held;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// `rows_max`: rows may have no bytes, and are listed here nevertheless.
bool ReadGroups(TokenReader& reader, size_t rows_max, StageState::Step& step) {
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    step.groups.push_back(reader.Number());
  }
  if (step.groups.empty()) return true;
  for (size_t block = 0; block < step.held.size(); ++block) {
    const size_t rows = step.held[block]->chunk.rows;
    if (rows > rows_max - step.rows.size()) return false;
    for (size_t row = 0; row < rows; ++row) {
      step.rows.push_back(
          {static_cast<uint32_t>(block), static_cast<uint32_t>(row)});
    }
  }
  return true;
}

std::string Checksum(std::string_view bytes) {
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string text(kChecksumBytes, '\0');
  for (size_t k = 0; k < kChecksumBytes; ++k) {
    text[k] = static_cast<char>(hash >> (8 * k));
  }
  return text;
}

uint64_t HashOf(const Graph& graph) {
  const std::string text = CanonicalText(graph);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

std::vector<uint64_t> PartsOf(const Graph& graph) {
  Graph part;
  part.source = graph.source;
  std::vector<uint64_t> parts = {HashOf(part)};
  part.source = RangeSource{};
  for (const Step& step : graph.steps) {
    part.steps = {step};
    parts.push_back(HashOf(part));
  }
  return parts;
}

std::string EncodeToken(const ReadToken& token) {
  TokenWriter writer;
  writer.Put(uint64_t{token.parts.size()});
  for (const uint64_t part : token.parts) writer.Put(part);
  writer.Put(token.fingerprint);
  writer.Put(token.plan);
  writer.Put(token.seed);
  writer.Put(token.iteration);
  writer.Put(token.incarnation);
  const ReadPlace& place = token.place;
  writer.Put(place.cursor);
  writer.Put(place.skip);
  writer.Put(place.elements);
  writer.Put(place.stage.position);
  writer.Put(uint64_t{place.stage.steps.size()});
  bool grouped = false;
  for (const StageState::Step& step : place.stage.steps) {
    writer.Put(step.left);
    writer.Put(step.made);
    if (!step.groups.empty()) {
      grouped = true;
      writer.Put(uint64_t{step.rows.empty() ? 0U : 1U});
      if (!step.rows.empty()) writer.Put(HeldInOrder(step));
      continue;
    }
    writer.Put(uint64_t{step.held.size()});
    for (const auto& held : step.held) writer.Put(*held);
  }
  for (const StageState::Step& step : place.stage.steps) {
    if (!grouped) break;
    writer.Put(uint64_t{step.groups.size()});
    for (const uint64_t rows : step.groups) writer.Put(rows);
  }
  return SealToken(writer.Take());
}

std::string SealToken(std::string_view body) {
  std::string text(kMagic);
  text += body;
  return text + Checksum(text);
}

absl::StatusOr<ReadToken> DecodeToken(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return InvalidArgument(
        "this is no token of a reader (or one of another version)");
  }
  const auto damaged = [] {
    return InvalidArgument("the token is damaged: take another checkpoint's");
  };
  if (bytes.size() < kMagic.size() + kChecksumBytes) return damaged();
  const std::string_view text = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Checksum(text) != bytes.substr(text.size())) return damaged();
  TokenReader reader(text.substr(kMagic.size()));
  ReadToken token;
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    token.parts.push_back(reader.Number());
  }
  token.fingerprint = reader.Text();
  token.plan = reader.Text();
  token.seed = reader.Number();
  token.iteration = reader.Number();
  token.incarnation = reader.Number();
  ReadPlace& place = token.place;
  place.cursor = reader.ReadCursor();
  place.skip = reader.Number();
  place.elements = reader.Number();
  place.stage.position = reader.Number();
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    StageState::Step& step = place.stage.steps.emplace_back();
    step.left = reader.Number();
    step.made = reader.Number();
    for (uint64_t held = reader.Count(); held > 0 && reader.good(); --held) {
      step.held.push_back(
          std::make_shared<const StageState::Held>(reader.ReadHeld()));
    }
  }
  // Only tokens of steps that hold groups of rows have them.
  for (StageState::Step& step : place.stage.steps) {
    if (!reader.good() || reader.done()) break;
    if (!ReadGroups(reader, kRowsPerByte * bytes.size(), step)) {
      return damaged();
    }
  }
  if (!reader.done()) return damaged();
  return token;
}

absl::Status CheckToken(const ReadToken& token, const Graph& graph) {
  const std::vector<uint64_t> parts = PartsOf(graph);
  const size_t common = std::min(parts.size(), token.parts.size());
  for (size_t k = 0; k < common; ++k) {
    if (parts[k] == token.parts[k]) continue;
    if (k == 0) {
      return InvalidArgument(
          "the token is of another pipeline: its source differs");
    }
    return InvalidArgument(
        "the token is of another pipeline: its steps[{}] is not this one's {}",
        k - 1, StepName(graph.steps[k - 1]));
  }
  if (parts.size() != token.parts.size()) {
    return InvalidArgument(
        "the token is of another pipeline: it had {} steps, this one has {}",
        token.parts.size() - 1, parts.size() - 1);
  }
  if (Fingerprint(graph) != token.fingerprint) {
    return InvalidArgument(
        "the token is of another pipeline: its options differ");
  }
  if (graph.options.seed.value_or(token.seed) != token.seed) {
    return InvalidArgument("the token is of seed {}, the pipeline has seed {}",
                           token.seed, *graph.options.seed);
  }
  if (graph.options.order != Order::kDeterministic) {
    return InvalidArgument(
        "the token is of order deterministic, the pipeline has order any");
  }
  return absl::OkStatus();
}

absl::Status CheckTokenPlan(const ReadToken& token, const std::string& plan) {
  if (plan == token.plan) return absl::OkStatus();
  return FailedPrecondition(
      "the pipeline's files changed since the token was saved (plan {}, now "
      "{}): the rest of its sequence is not there any more",
      token.plan, plan);
}

}  // namespace feedmill
