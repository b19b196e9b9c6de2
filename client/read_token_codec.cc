#include "client/read_token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/pipeline/held_rows.h"
#include "core/pipeline/row_groups.h"
#include "core/plan/plan_id.h"

// The layout of a token, in this order:
//
// - the magic;
// - the state of a generator, where the magic is kMagicOfState;
// - the sequence: parts, fingerprint, plan, seed, epoch, session, rank, skips;
// - the place: cursor, number, and the state of the client stage;
// - the fields of PutRareFields;
// - the checksum.
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

// Numbers are encoded as LEB128; texts follow their length.
class TokenWriter {
 public:
  void Put(uint64_t value) { PutLeb128(text_, value); }
  void Put(std::string_view bytes) {
    Put(uint64_t{bytes.size()});
    text_ += bytes;
  }
  void Put(Cursor cursor) {
    Put(cursor.p);
    Put(cursor.i);
  }
  void Put(const StageState::Held& held) { PutHeld(held, text_); }
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
    const std::optional<uint64_t> number = TakeLeb128(rest_);
    good_ = good_ && number.has_value();
    return number.value_or(0);
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
    good_ = good_ && state->bytes.size() <= kRowStateMax;
    return state;
  }
  StageState::Held ReadHeld() {
    std::optional<StageState::Held> held = TakeHeld(rest_);
    good_ = good_ && held.has_value();
    return std::move(held).value_or(StageState::Held());
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
  return ListGroupedRows(rows_max, step);
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
    if (first < from || second <= first || second > kElementNumbersMax)
      return false;
    from = second;
  }
  return true;
}

void PutState(const GeneratorState& state, TokenWriter& writer) {
  writer.Put(state.at);
  writer.Put(state.bytes);
}

void PutSequence(const ReadToken& token, TokenWriter& writer) {
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
}

void PutPlace(const ReadPlace& place, TokenWriter& writer) {
  writer.Put(place.cursor);
  writer.Put(place.skip);
  writer.Put(place.elements);
  writer.Put(place.stage.position);
  writer.Put(uint64_t{place.stage.steps.size()});
  for (const StageState::Step& step : place.stage.steps) {
    writer.Put(step.left);
    writer.Put(step.made);
    if (!step.groups.empty()) {
      writer.Put(uint64_t{step.rows.empty() ? 0U : 1U});
      if (!step.rows.empty()) writer.Put(HeldInOrder(step));
      continue;
    }
    writer.Put(uint64_t{step.held.size()});
    for (const auto& held : step.held) writer.Put(*held);
  }
}

// Writes the fields that only some tokens have. A field implies those before
// it.
void PutRareFields(const ReadToken& token, TokenWriter& writer) {
  const std::vector<StageState::Step>& steps = token.place.stage.steps;
  const bool even = token.even_start > 0 || token.padded;
  const bool passes = token.passes > 0 || token.place.skipped > 0 || even;
  const bool groups =
      passes || std::any_of(steps.begin(), steps.end(),
                            [](const auto& s) { return !s.groups.empty(); });
  if (groups) {
    for (const StageState::Step& step : steps) {
      writer.Put(uint64_t{step.groups.size()});
      for (const uint64_t rows : step.groups) writer.Put(rows);
    }
  }
  if (passes) {
    writer.Put(token.passes);
    writer.Put(uint64_t{token.settled ? 1U : 0U});
    writer.Put(token.place.skipped);
  }
  if (even) {
    writer.Put(token.even_start);
    writer.Put(uint64_t{token.padded ? 1U : 0U});
  }
}

void ReadSequence(TokenReader& reader, ReadToken& token) {
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
}

void ReadPlaceOf(TokenReader& reader, ReadPlace& place) {
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
}

// Reads what PutRareFields wrote. `rows_max`: of the groups of a step. False if
// the fields contradict each other.
bool ReadRareFields(TokenReader& reader, size_t rows_max, ReadToken& token) {
  const auto more = [&] { return reader.good() && !reader.done(); };
  for (StageState::Step& step : token.place.stage.steps) {
    if (!more()) break;
    if (!ReadGroups(reader, rows_max, step)) return false;
  }
  if (!more()) return true;
  token.passes = reader.Number();
  token.settled = reader.Number() != 0;
  token.place.skipped = reader.Number();
  if (!more()) return token.passes > 0 || token.place.skipped > 0;
  token.even_start = reader.Number();
  token.padded = reader.Number() != 0;
  return token.even_start > 0 || token.padded;
}

}  // namespace

std::string EncodeToken(const ReadToken& token) {
  TokenWriter writer;
  const GeneratorStatePtr& state = token.place.state;
  if (state != nullptr) PutState(*state, writer);
  PutSequence(token, writer);
  PutPlace(token.place, writer);
  PutRareFields(token, writer);
  return SealToken(writer.Take(), state != nullptr);
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
  ReadPlace& place = token.place;
  if (has_state) place.state = reader.ReadState();
  ReadSequence(reader, token);
  ReadPlaceOf(reader, place);
  const bool sound = ReadRareFields(reader, kRowsPerByte * bytes.size(), token);
  if (!sound || !reader.done() || !token.share.sound() ||
      !InOrder(token.skips) || place.elements < place.skip ||
      (has_state && !place.state->LeadsTo(place.cursor))) {
    return damaged();
  }
  return token;
}

}  // namespace feedmill
