#ifndef FEEDMILL_CORE_WIRE_FIELD_READER_H_
#define FEEDMILL_CORE_WIRE_FIELD_READER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/wire/message.h"
#include "schemas/envelope_generated.h"

// Reads FlatBuffers for control_codec.cc and frame_codec.cc. Private to
// core/wire.

namespace feedmill::wire {

// Reads the fields of a verified header. The first error is kept in error();
// after it, returned values are meaningless.
//
// A verified header may refer to one string many times, so copies of its
// strings could be much larger than the header. Honest senders write each
// string once. So FieldReader copies at most as many bytes as the header has.
class FieldReader {
 public:
  explicit FieldReader(size_t header_size) : budget_(header_size) {}

  const absl::Status& error() const { return error_; }
  void Refuse(absl::Status status) {
    if (error_.ok()) error_ = std::move(status);
  }

  std::string Text(const flatbuffers::String* text) {
    if (text == nullptr || !Spend(text->size())) return {};
    return std::string(text->data(), text->size());
  }

  absl::Status Status(const fb::Status* status) {
    if (status == nullptr) return absl::OkStatus();
    constexpr auto kLast = absl::StatusCode::kUnauthenticated;
    if (status->code() == 0 || status->code() > static_cast<uint8_t>(kLast)) {
      Refuse(InvalidArgument("status code {} is not known", status->code()));
      return absl::OkStatus();
    }
    return absl::Status(static_cast<absl::StatusCode>(status->code()),
                        Text(status->message()));
  }

  feedmill::Session Session(const fb::Session* session) {
    return {ConsumerId(Text(session->consumer())),
            Incarnation(session->incarnation())};
  }

  // Reads a vector of tables or strings; `read` reads each item.
  template <class V, class F>
  auto All(const V* vector, F read) {
    std::vector<decltype(read(vector->Get(0)))> items;
    for (auto item : *vector) {
      if (!error_.ok() || !Spend(0)) break;
      items.push_back(read(item));
    }
    return items;
  }

  // True if the items of a vector of structs or numbers are aligned. The
  // verifier only checks the alignment of its length, and writers align only
  // vectors that have items.
  template <class T, class V>
  bool IsAligned(const V& vector) {
    if (vector.size() == 0 ||
        reinterpret_cast<uintptr_t>(vector.Data()) % alignof(T) == 0) {
      return true;
    }
    Refuse(InvalidArgument("the items of a vector are not aligned"));
    return false;
  }

  // Reads a vector of structs; `convert` converts each item.
  template <class T, class F>
  auto Structs(const flatbuffers::Vector<const T*>* vector, F convert) {
    std::vector<decltype(convert(*vector->Get(0)))> items;
    if (!IsAligned<T>(*vector)) return items;
    items.reserve(vector->size());
    for (const T* item : *vector) items.push_back(convert(*item));
    return items;
  }

 private:
  // An item costs at least the four bytes of its offset.
  bool Spend(size_t bytes) {
    constexpr size_t kName = 4;
    if (bytes > budget_ || budget_ - bytes < kName) {
      Refuse(InvalidArgument("the header names the same text many times"));
      return false;
    }
    budget_ -= bytes + kName;
    return true;
  }

  size_t budget_;
  absl::Status error_;
};

// kAuto is accepted only if `may_wish`: it is a request, never the codec of
// data.
inline LinkCompression FromWire(FieldReader& reader, fb::LinkCompression codec,
                                bool may_wish) {
  switch (codec) {
    case fb::LinkCompression::None:
    case fb::LinkCompression::Lz4:
    case fb::LinkCompression::Zstd:
      return static_cast<LinkCompression>(codec);
    case fb::LinkCompression::Auto:
      if (may_wish) return LinkCompression::kAuto;
      break;
    case fb::LinkCompression::Unknown:
      break;
  }
  reader.Refuse(
      InvalidArgument("compression {} is not known", static_cast<int>(codec)));
  return LinkCompression::kNone;
}

inline Cursor FromWire(const fb::Cursor& cursor) {
  return {cursor.p(), cursor.i()};
}
inline SplitId FromWire(const fb::SplitId& split) {
  return {JournalId(split.journal()), split.number()};
}
inline Seen FromWire(const fb::Seen& seen) {
  return {JournalId(seen.journal()), seen.sequence()};
}

inline absl::Time TimeFromWire(int64_t nanoseconds) {
  using Limits = std::numeric_limits<int64_t>;
  if (nanoseconds == Limits::max()) return absl::InfiniteFuture();
  if (nanoseconds == Limits::min()) return absl::InfinitePast();
  return absl::FromUnixNanos(nanoseconds);
}

inline absl::Duration DurationFromWire(int64_t nanoseconds) {
  using Limits = std::numeric_limits<int64_t>;
  if (nanoseconds == Limits::max()) return absl::InfiniteDuration();
  if (nanoseconds == Limits::min()) return -absl::InfiniteDuration();
  return absl::Nanoseconds(nanoseconds);
}

// Costs of a frame's piece or of a worker's sample.
inline std::vector<StepCost> ReadCosts(
    FieldReader& reader,
    const flatbuffers::Vector<const fb::StepCost*>* costs) {
  if (costs == nullptr) return {};
  return reader.Structs(costs, [&](const fb::StepCost& cost) {
    if (cost.place() > StepCost::kPlaceMax) {
      reader.Refuse(InvalidArgument("a cost is of place {}, above {}",
                                    cost.place(), StepCost::kPlaceMax));
    }
    return StepCost{cost.place(),   cost.wall_ns(),  cost.cpu_ns(),
                    cost.rows_in(), cost.rows_out(), cost.bytes_out()};
  });
}

inline std::optional<SkippedElement> ReadSkipped(
    FieldReader& reader, const fb::SkippedElement* skipped) {
  if (skipped == nullptr) return std::nullopt;
  SkippedElement out;
  out.cursor = FromWire(*skipped->cursor());
  out.error = reader.Text(skipped->error());
  out.records =
      reader.All(skipped->records(), [&](const fb::RecordOrigin* origin) {
        return RecordOrigin{reader.Text(origin->file()), origin->record(),
                            origin->offset(), origin->epoch()};
      });
  return out;
}

// Refuses a state that does not lead to `start`.
inline GeneratorStatePtr ReadState(FieldReader& reader,
                                   const fb::GeneratorState* state,
                                   Cursor start) {
  if (state == nullptr) return nullptr;
  const auto* bytes = state->bytes();
  if (bytes->size() > kRowStateMax) {
    reader.Refuse(InvalidArgument("a generator's state has {} bytes, above {}",
                                  bytes->size(), kRowStateMax));
    return nullptr;
  }
  auto read = std::make_shared<GeneratorState>();
  read->at = FromWire(*state->at());
  if (!read->LeadsTo(start)) {
    reader.Refuse(
        InvalidArgument("a generator's state at {}.{} does not lead to {}.{}",
                        read->at.p, read->at.i, start.p, start.i));
    return nullptr;
  }
  read->bytes.assign(bytes->begin(), bytes->end());
  return read;
}

}  // namespace feedmill::wire

#endif  // FEEDMILL_CORE_WIRE_FIELD_READER_H_
