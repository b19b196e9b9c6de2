#ifndef FEEDMILL_CORE_OPS_PROTOBUF_FIELDS_H_
#define FEEDMILL_CORE_OPS_PROTOBUF_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

// Reads protobuf's wire format in place.

namespace feedmill {

enum class WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

// A field of a message: its number and, by type, its varint or bytes.
struct ProtobufField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;     // kVarint
  std::string_view bytes;  // all other types

  bool IsMessage(uint32_t wanted) const {
    return number == wanted && type == WireType::kLength;
  }
};

// Iterates over the fields of one message. Every read is bounds-checked.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message)
      : next_(message.data()), end_(message.data() + message.size()) {}

  bool done() const { return next_ == end_; }

  // Reads the next field; false if the bytes are no protobuf message.
  bool Next(ProtobufField& field) {
    uint64_t tag = 0;
    if (!Varint(tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    uint64_t size = 0;
    switch (field.type) {
      case WireType::kLength:
        return Varint(size) && TakeBytes(size, field);
      case WireType::kVarint:
        return Varint(field.varint);
      case WireType::kFixed64:
        return TakeBytes(8, field);
      case WireType::kFixed32:
        return TakeBytes(4, field);
    }
    return false;  // groups are not supported
  }

  bool Varint(uint64_t& value) {
    if (next_ != end_ && static_cast<unsigned char>(*next_) < 0x80) {
      value = static_cast<unsigned char>(*next_++);
      return true;
    }
    value = 0;
    for (unsigned shift = 0; shift < 70 && next_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

 private:
  bool TakeBytes(uint64_t size, ProtobufField& field) {
    if (size > static_cast<uint64_t>(end_ - next_)) return false;
    field.bytes = {next_, static_cast<size_t>(size)};
    next_ += size;
    return true;
  }

  const char* next_;
  const char* end_;
};

// Reads messages in the form that all common writers produce: each field once,
// in order, with short tags. Use FieldReader for other forms.
class UsualReader {
 public:
  explicit UsualReader(std::string_view message)
      : next_(message.data()), end_(message.data() + message.size()) {}

  bool done() const { return next_ == end_; }

  // Reads the bytes of the next field, if it has that number and a length.
  [[gnu::always_inline]] bool Take(uint32_t number, std::string_view& bytes) {
    if (end_ - next_ < 2 || Byte(next_) != (number << 3 | 2)) return false;
    const char* at = next_ + 2;
    uint64_t size = Byte(next_ + 1);
    if (size >= 0x80 && !TakeMoreOf(size, at)) return false;
    if (size > static_cast<uint64_t>(end_ - at)) return false;
    bytes = {at, static_cast<size_t>(size)};
    next_ = at + size;
    return true;
  }
  // Same, if it is also the last field.
  [[gnu::always_inline]] bool TakeLast(uint32_t number,
                                       std::string_view& bytes) {
    return Take(number, bytes) && done();
  }

 private:
  static unsigned Byte(const char* at) {
    return static_cast<unsigned char>(*at);
  }
  // Reads the remaining bytes, from `at` on, of a length of several bytes.
  [[gnu::always_inline]] bool TakeMoreOf(uint64_t& size, const char*& at) {
    size &= 0x7F;
    for (unsigned shift = 7; shift <= 28 && at != end_; shift += 7) {
      const unsigned byte = Byte(at++);
      size |= uint64_t{byte & 0x7F} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  const char* next_;
  const char* end_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_PROTOBUF_FIELDS_H_
