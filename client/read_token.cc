#include "client/read_token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/operators/registry.h"
#include "core/pipeline/row_groups.h"
#include "core/plan/plan_id.h"
#include "core/wire/codec.h"

namespace feedmill {
namespace {

// A token of another plan version describes another sequence.
constexpr std::string_view kMagicOfAll = "feedmill token ";
constexpr std::string_view kMagic = "feedmill token 3\n";
// A token that begins with the state of a generator.
constexpr std::string_view kMagicOfState = "feedmill token 4\n";
static_assert(kMagic.size() == kMagicOfState.size());
static_assert(kPlanVersion == 2, "another plan version needs another magic");
constexpr size_t kChecksumBytes = 8;
constexpr size_t kRowsPerByte = 64;  // maximum rows per byte of a token
// Element numbers are below this.
constexpr uint64_t kNumbersMax = uint64_t{1} << 63;
// cluster id of the frames that hold rows
constexpr char kHeldCluster[] = "token";

// Numbers are encoded as LEB128; texts follow their length.
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
  // Reads a count of items that take at least a byte each.
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
  GeneratorStatePtr ReadState() {
    auto state = std::make_shared<GeneratorState>();
    state->at = ReadCursor();
    state->bytes = Text();
    good_ = good_ && state->bytes.size() <= kGeneratorStateMax;
    return state;
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
    const size_t named = held.counters.size();  // one per row, or none
    good_ = good_ && held.passes.size() == named &&
            (named == 0 || named == held.chunk.rows);
    return held;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// `rows_max` bounds the rows, because rows may have no bytes.
bool ReadGroups(TokenReader& reader, size_t rows_max, StageState::Step& step) {
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    step.groups.push_back(reader.Number());
  }
  if (step.groups.empty()) return true;
  for (size_t block = 0; block < step.held.size(); ++block) {
    const Chunk& chunk = step.held[block]->chunk;
    const auto& first = step.held[0]->chunk.spec;
    const bool alike =
        first != nullptr && chunk.spec != nullptr && *chunk.spec == *first;
    const size_t rows = chunk.rows;
    if (!alike || rows > rows_max - step.rows.size()) return false;
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

bool InOrder(const std::vector<NumberRange>& skips) {
  uint64_t from = 0;
  for (const auto& [first, second] : skips) {
    if (first < from || second <= first || second > kNumbersMax) return false;
    from = second;
  }
  return true;
}

// Sorts ranges and joins adjacent ones.
std::vector<NumberRange> Normal(std::vector<NumberRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<NumberRange> normal;
  for (const NumberRange& range : ranges) {
    if (!normal.empty() && range.first <= normal.back().second) {
      normal.back().second = std::max(normal.back().second, range.second);
    } else {
      normal.push_back(range);
    }
  }
  return normal;
}

// Returns the number of elements, without skipped ones, before the next element
// of the token's rank.
uint64_t NextOf(const ReadToken& token) {
  uint64_t next = token.share.From(token.place.elements);
  uint64_t out = 0;
  for (const auto& [first, second] : token.skips) {
    if (next < first) break;
    if (next < second) next = token.share.From(second);
    out += second - first;
  }
  return next - out;
}

uint64_t HashOf(const Graph& graph) {
  const std::string text = IdentityText(graph);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

std::vector<uint64_t> PartsOf(const Graph& graph) {
  Graph part;
  part.source = graph.source;
  std::vector<uint64_t> parts = {HashOf(part)};
  part.source = MakeSource(RangeSource{});
  for (const Step& step : graph.steps) {
    part.steps = {step};
    parts.push_back(HashOf(part));
  }
  return parts;
}

ReadToken MakeToken(const Graph& graph, const ReadRules& rules,
                    ReadPlace place) {
  ReadToken token;
  token.parts = PartsOf(graph);
  token.fingerprint = Fingerprint(graph);
  token.share = rules.share;
  token.skips = rules.skips;
  token.place = std::move(place);
  return token;
}

std::string EncodeToken(const ReadToken& token) {
  TokenWriter writer;
  const GeneratorStatePtr& state = token.place.state;
  if (state != nullptr) {
    writer.Put(state->at);
    writer.Put(state->bytes);
  }
  writer.Put(uint64_t{token.parts.size()});
  for (const uint64_t part : token.parts) writer.Put(part);
  writer.Put(token.fingerprint);
  writer.Put(token.plan);
  writer.Put(token.seed);
  writer.Put(token.iteration);
  writer.Put(token.incarnation);
  writer.Put(token.share.rank);
  writer.Put(token.share.ranks);
  writer.Put(uint64_t{token.skips.size()});
  for (const NumberRange& skip : token.skips) {
    writer.Put(skip.first);
    writer.Put(skip.second);
  }
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
  const bool even = token.even_start > 0 || token.padded;
  const bool more = token.slots > 0 || place.skipped > 0 || even;
  for (const StageState::Step& step : place.stage.steps) {
    if (!grouped && !more) break;
    writer.Put(uint64_t{step.groups.size()});
    for (const uint64_t rows : step.groups) writer.Put(rows);
  }
  if (more) {
    writer.Put(token.slots);
    writer.Put(uint64_t{token.settled ? 1U : 0U});
    writer.Put(place.skipped);
  }
  if (even) {
    writer.Put(token.even_start);
    writer.Put(uint64_t{token.padded ? 1U : 0U});
  }
  return SealToken(writer.Take(), state != nullptr);
}

absl::Status TooManyUnread(uint64_t unread) {
  return InvalidArgument(
      "{} unread elements are more than the last chunk had: a token is that of "
      "a place within it",
      unread);
}

std::string SealToken(std::string_view body, bool has_state) {
  std::string text(has_state ? kMagicOfState : kMagic);
  text += body;
  return text + Checksum(text);
}

absl::StatusOr<ReadToken> DecodeToken(std::string_view bytes) {
  if (!bytes.starts_with(kMagicOfAll)) {
    return InvalidArgument("this is no token of a reader");
  }
  const bool has_state = bytes.starts_with(kMagicOfState);
  if (!has_state && !bytes.starts_with(kMagic)) {
    return InvalidArgument(
        "the token is of another release of feedmill, which reads in another "
        "order: continue with that release, or begin again without the token");
  }
  const auto damaged = [] {
    return InvalidArgument("the token is damaged: take another checkpoint's");
  };
  if (bytes.size() < kMagic.size() + kChecksumBytes) return damaged();
  const std::string_view text = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Checksum(text) != bytes.substr(text.size())) return damaged();
  TokenReader reader(text.substr(kMagic.size()));
  ReadToken token;
  if (has_state) token.place.state = reader.ReadState();
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    token.parts.push_back(reader.Number());
  }
  token.fingerprint = reader.Text();
  token.plan = reader.Text();
  token.seed = reader.Number();
  token.iteration = reader.Number();
  token.incarnation = reader.Number();
  token.share.rank = reader.Number();
  token.share.ranks = reader.Number();
  for (uint64_t left = reader.Count(); left > 0 && reader.good(); --left) {
    const uint64_t first = reader.Number();
    token.skips.emplace_back(first, reader.Number());
  }
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
  // Only some tokens have these fields: of steps that hold groups of rows, of
  // runs with slots, of readers that skipped elements, and of evened ranks.
  for (StageState::Step& step : place.stage.steps) {
    if (!reader.good() || reader.done()) break;
    if (!ReadGroups(reader, kRowsPerByte * bytes.size(), step)) {
      return damaged();
    }
  }
  if (reader.good() && !reader.done()) {
    token.slots = reader.Number();
    token.settled = reader.Number() != 0;
    place.skipped = reader.Number();
    bool even = false;
    if (reader.good() && !reader.done()) {
      token.even_start = reader.Number();
      token.padded = reader.Number() != 0;
      even = token.even_start > 0 || token.padded;
      if (!even) return damaged();
    }
    if (token.slots == 0 && place.skipped == 0 && !even) return damaged();
  }
  if (!reader.done() || !token.share.sound() || !InOrder(token.skips) ||
      place.elements < place.skip ||
      (has_state && !place.state->LeadsTo(place.cursor))) {
    return damaged();
  }
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
        k - 1, graph.steps[k - 1].name());
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

absl::Status CheckTokenEpoch(const ReadToken& token,
                             const std::optional<uint64_t>& epoch) {
  if (epoch.value_or(token.iteration) == token.iteration) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "epoch {} was asked for, and the token is of epoch {}: leave out one of "
      "them",
      *epoch, token.iteration);
}

absl::Status CheckTokenPlan(const ReadToken& token, const std::string& plan) {
  if (token.begins() || plan == token.plan) return absl::OkStatus();
  return FailedPrecondition(
      "the pipeline's files changed since the token was saved (plan {}, now "
      "{}), so the elements after the token no longer exist",
      token.plan, plan);
}

absl::Status CheckTokenSlots(const ReadToken& token, uint64_t slots) {
  const auto text = [](uint64_t count) {
    return count == 0 ? "one pass"
                      : fmt::format(
                            "{} passes, one a worker (processing_mode "
                            "off, through a service)",
                            count);
  };
  const bool same = (token.slots == 0) == (slots == 0) &&
                    (!token.settled || token.slots == slots);
  if (token.begins() || same) return absl::OkStatus();
  return FailedPrecondition(
      "the token is of a reading of {}, and this is a reading of {}: continue "
      "in the same way, and under another --job name if that is taken",
      text(token.slots), text(slots));
}

absl::StatusOr<ReadRules> MakeRules(Share share, std::vector<NumberRange> skips,
                                    const std::optional<ReadToken>& token) {
  if (!share.sound()) {
    return InvalidArgument("consumer {}/{}: it is 0/C to C-1/C, C at most {}",
                           share.rank, share.ranks, kRanksMax);
  }
  if (token && !token->share.whole() && token->share != share) {
    return InvalidArgument(
        "the token is that of consumer {}/{} alone, and this is {}/{}; join "
        "those of all {} by feedmill token merge",
        token->share.rank, token->share.ranks, share.rank, share.ranks,
        token->share.ranks);
  }
  for (const auto& [first, second] : skips) {
    if (second <= first || second > kNumbersMax) {
      return InvalidArgument(
          "to skip {}:{} is to skip nothing: it is FIRST:END", first, second);
    }
  }
  const uint64_t from = token ? token->place.elements : 0;
  if (token) {
    skips.insert(skips.end(), token->skips.begin(), token->skips.end());
  }
  ReadRules rules{share, Normal(std::move(skips))};
  for (const auto& [first, second] : rules.skips) {
    if (first <= from || (second - first) % share.ranks == 0) continue;
    return InvalidArgument(
        "to skip {}:{}, {} elements, would bring {} consumers out of step: "
        "skip a multiple of {}",
        first, second, second - first, share.ranks, share.ranks);
  }
  return rules;
}

namespace {

// InvalidArgument names the first property in which the tokens differ.
absl::Status CheckSameReading(const ReadToken& a, const ReadToken& b) {
  const auto differ = [](std::string_view what) {
    return InvalidArgument("the tokens are not of one reading: their {} differ",
                           what);
  };
  if (a.fingerprint != b.fingerprint) return differ("pipelines");
  if (a.seed != b.seed) return differ("seeds");
  if (a.iteration != b.iteration) return differ("iterations");
  if (a.plan != b.plan) return differ("files");
  if (a.share.ranks != b.share.ranks) return differ("numbers of consumers");
  if (a.skips != b.skips) return differ("skipped batches");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReadToken> MergeTokens(std::vector<ReadToken> tokens) {
  if (tokens.empty()) return InvalidArgument("there is no token to merge");
  std::sort(tokens.begin(), tokens.end(),
            [](const ReadToken& a, const ReadToken& b) {
              return a.share.rank < b.share.rank;
            });
  const uint64_t ranks = tokens.front().share.ranks;
  for (const ReadToken& token : tokens) {
    FM_RETURN_IF_ERROR(CheckSameReading(tokens.front(), token));
  }
  for (size_t k = 0; k < tokens.size(); ++k) {
    const bool twice =
        k > 0 && tokens[k].share.rank == tokens[k - 1].share.rank;
    if (twice) {
      return InvalidArgument("consumer {}/{} has two tokens",
                             tokens[k].share.rank, ranks);
    }
    if (tokens.size() != ranks && tokens[k].share.rank != k) {
      return InvalidArgument("the token of consumer {}/{} is missing", k,
                             ranks);
    }
  }
  if (tokens.size() != ranks) {
    return InvalidArgument("the token of consumer {}/{} is missing",
                           tokens.size(), ranks);
  }
  const auto by_next = [](const ReadToken& a, const ReadToken& b) {
    return NextOf(a) < NextOf(b);
  };
  const auto [least, most] =
      std::minmax_element(tokens.begin(), tokens.end(), by_next);
  std::vector<uint64_t> nexts;
  nexts.reserve(tokens.size());
  for (const ReadToken& token : tokens) nexts.push_back(NextOf(token));
  std::sort(nexts.begin(), nexts.end());
  for (size_t k = 0; k < nexts.size(); ++k) {
    if (nexts[k] == nexts[0] + k) continue;
    return InvalidArgument(
        "the consumers are not at one step: {}/{} continues with element {}, "
        "{}/{} with {}; save the tokens after the same number of elements",
        least->share.rank, ranks, NextOf(*least), most->share.rank, ranks,
        NextOf(*most));
  }
  // Number of the element handed out last; all before it were handed out.
  const uint64_t number = most->place.elements;
  uint64_t incarnation = 0;
  uint64_t slots = 0;
  bool settled = false;
  const ReadToken* best = nullptr;
  for (const ReadToken& token : tokens) {
    incarnation = std::max(incarnation, token.incarnation);
    if (settled && token.settled && slots != token.slots) {
      return InvalidArgument(
          "the consumers do not read one run: it has {} passes for one of "
          "them, and {} for {}/{} (processing_mode off); start all from "
          "earlier tokens",
          slots, token.slots, token.share.rank, ranks);
    }
    if (token.settled || !settled) {
      slots = token.settled ? token.slots : std::max(slots, token.slots);
    }
    settled = settled || token.settled;
    const uint64_t begins = token.place.number();
    if (begins > number) continue;
    if (best == nullptr || best->place.number() < begins) best = &token;
  }
  ReadToken merged = *best;
  merged.incarnation = incarnation;
  merged.share = {};
  merged.slots = slots;
  merged.settled = settled;
  merged.place.skip = number - merged.place.number();
  merged.place.elements = number;
  merged.even_start = 0;
  merged.padded = false;
  return merged;
}

}  // namespace feedmill
