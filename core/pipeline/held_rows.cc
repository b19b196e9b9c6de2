#include "core/pipeline/held_rows.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "core/base/leb128.h"
#include "core/wire/codec.h"

namespace feedmill {
namespace {

// cluster id of the frames that hold rows
constexpr char kHeldCluster[] = "token";

// Removes a text that follows its length.
std::optional<std::string_view> TakeText(std::string_view& bytes) {
  const std::optional<uint64_t> size = TakeLeb128(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *size);
  bytes.remove_prefix(text.size());
  return text;
}

// Removes a count of items that take at least a byte each.
std::optional<uint64_t> TakeCount(std::string_view& bytes) {
  const std::optional<uint64_t> count = TakeLeb128(bytes);
  return count && *count <= bytes.size() ? count : std::nullopt;
}

std::optional<Parts> TakeParts(std::string_view& bytes) {
  Parts parts;
  const std::optional<uint64_t> count = TakeCount(bytes);
  if (!count) return std::nullopt;
  for (uint64_t k = 0; k < *count; ++k) {
    const std::optional<std::string_view> part = TakeText(bytes);
    if (!part) return std::nullopt;
    parts.push_back(
        Buffer::CopyOf(std::as_bytes(std::span(part->data(), part->size()))));
  }
  return parts;
}

}  // namespace

void PutHeld(const StageState::Held& held, std::string& bytes) {
  Frame frame;
  frame.piece.chunk = held.chunk;
  frame.piece.end = {held.chunk.rows, 0};
  const Parts parts = Encode(Message(std::move(frame)), kHeldCluster);
  PutLeb128(bytes, parts.size());
  for (const Buffer& part : parts) {
    PutLeb128(bytes, part.size());
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  PutLeb128(bytes, held.counters.size());
  for (const Cursor& counter : held.counters) {
    PutLeb128(bytes, counter.p);
    PutLeb128(bytes, counter.i);
  }
  PutLeb128(bytes, held.passes.size());
  for (const uint64_t pass : held.passes) PutLeb128(bytes, pass);
}

std::optional<StageState::Held> TakeHeld(std::string_view& bytes) {
  StageState::Held held;
  const std::optional<Parts> parts = TakeParts(bytes);
  if (!parts) return std::nullopt;
  const absl::StatusOr<Message> message = Decode(*parts, kHeldCluster);
  const auto* frame = message.ok() ? std::get_if<Frame>(&*message) : nullptr;
  if (frame == nullptr) return std::nullopt;
  held.chunk = frame->piece.chunk;
  const std::optional<uint64_t> counters = TakeCount(bytes);
  for (uint64_t k = 0; k < counters.value_or(0); ++k) {
    const std::optional<uint64_t> p = TakeLeb128(bytes);
    const std::optional<uint64_t> i = TakeLeb128(bytes);
    if (!p || !i) return std::nullopt;
    held.counters.push_back({*p, *i});
  }
  const std::optional<uint64_t> passes = TakeCount(bytes);
  for (uint64_t k = 0; k < passes.value_or(0); ++k) {
    const std::optional<uint64_t> pass = TakeLeb128(bytes);
    if (!pass) return std::nullopt;
    held.passes.push_back(*pass);
  }
  const size_t named = held.counters.size();  // one per row, or none
  if (!counters || !passes || held.passes.size() != named ||
      (named != 0 && named != held.chunk.rows)) {
    return std::nullopt;
  }
  return held;
}

bool ListGroupedRows(size_t rows_max, StageState::Step& step) {
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

bool HoldsRows(const StageState& stage) {
  return std::any_of(stage.steps.begin(), stage.steps.end(),
                     [](const auto& step) { return !step.held.empty(); });
}

size_t HeldBytes(const StageState& stage) {
  size_t bytes = 0;
  for (const StageState::Step& step : stage.steps) {
    size_t held_bytes = 0;
    size_t held_rows = 0;
    for (const auto& held : step.held) {
      if (held->chunk.rows == 0) continue;
      held_bytes += held->chunk.ElementBytes();
      held_rows += held->chunk.rows;
    }
    // Rows that left their group may still be held.
    if (!step.groups.empty() && held_rows > 0) {
      held_bytes = held_bytes / held_rows * step.rows.size();
    }
    bytes += held_bytes;
  }
  return bytes;
}

}  // namespace feedmill
