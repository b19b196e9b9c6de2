#ifndef FEEDMILL_CORE_WIRE_FIELD_WRITER_H_
#define FEEDMILL_CORE_WIRE_FIELD_WRITER_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/wire/message.h"
#include "schemas/envelope_generated.h"

// Writes FlatBuffers for control_codec.cc and frame_codec.cc. Private to
// core/wire.

namespace feedmill::wire {

using Builder = flatbuffers::FlatBufferBuilder;
template <class T>
using Offset = flatbuffers::Offset<T>;

// The serialised body of a message.
struct Body {
  fb::Body type;
  Offset<void> offset;
};

inline fb::Cursor ToWire(Cursor cursor) { return {cursor.p, cursor.i}; }
inline fb::LinkCompression ToWire(LinkCompression codec) {
  return static_cast<fb::LinkCompression>(codec);
}
inline fb::SplitId ToWire(const SplitId& split) {
  return {split.journal.value(), split.number};
}
inline fb::Seen ToWire(const Seen& seen) {
  return {seen.journal.value(), seen.sequence};
}

// Converts to nanoseconds. Values out of range, including infinity, become the
// extreme values, which field_reader.h reads as infinity.
inline int64_t ToWire(absl::Time time) { return absl::ToUnixNanos(time); }
inline int64_t ToWire(absl::Duration duration) {
  return absl::ToInt64Nanoseconds(duration);
}

inline Offset<flatbuffers::String> Put(Builder& builder,
                                       const std::string& text) {
  return builder.CreateString(text);
}

inline Offset<fb::Session> Put(Builder& builder, const Session& session) {
  return fb::CreateSession(builder, Put(builder, session.consumer.value()),
                           session.incarnation.value());
}

// Returns null, which leaves the field out, if the status is OK.
inline Offset<fb::Status> Put(Builder& builder, const absl::Status& status) {
  if (status.ok()) return 0;
  return fb::CreateStatus(builder, static_cast<uint8_t>(status.code()),
                          Put(builder, ErrorText(status)));
}

// Writes a vector of tables or strings; `put` writes each item.
template <class T, class F>
auto PutAll(Builder& builder, const std::vector<T>& items, F put) {
  std::vector<decltype(put(items.front()))> offsets;
  offsets.reserve(items.size());
  for (const T& item : items) offsets.push_back(put(item));
  return builder.CreateVector(offsets);
}

// Returns null if there is no skipped element.
inline Offset<fb::SkippedElement> Put(
    Builder& builder, const std::optional<SkippedElement>& skipped) {
  if (!skipped) return 0;
  const auto records =
      PutAll(builder, skipped->records, [&](const RecordOrigin& origin) {
        return fb::CreateRecordOrigin(builder, Put(builder, origin.file),
                                      origin.record, origin.offset,
                                      origin.epoch);
      });
  const auto error = Put(builder, skipped->error);
  const fb::Cursor cursor = ToWire(skipped->cursor);
  return fb::CreateSkippedElement(builder, &cursor, records, error);
}

// Returns null if there is no state.
inline Offset<fb::GeneratorState> Put(Builder& builder,
                                      const GeneratorStatePtr& state) {
  if (state == nullptr) return 0;
  const auto bytes = builder.CreateVector(
      reinterpret_cast<const uint8_t*>(state->bytes.data()),
      state->bytes.size());
  const fb::Cursor at = ToWire(state->at);
  return fb::CreateGeneratorState(builder, &at, bytes);
}

// Writes a vector of structs; `convert` converts each item.
template <class T, class F>
auto PutStructs(Builder& builder, const std::vector<T>& items, F convert) {
  std::vector<decltype(convert(items.front()))> structs;
  structs.reserve(items.size());
  for (const T& item : items) structs.push_back(convert(item));
  return builder.CreateVectorOfStructs(structs);
}

}  // namespace feedmill::wire

#endif  // FEEDMILL_CORE_WIRE_FIELD_WRITER_H_
