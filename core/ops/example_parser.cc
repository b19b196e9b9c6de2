#include "core/ops/example_parser.h"

#include <bit>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little);

// The kinds of a Feature, which are also its field numbers.
enum class Kind : uint32_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "nothing";
    case Kind::kBytes:
      return "bytes";
    case Kind::kFloat:
      return "float32";
    case Kind::kInt64:
      return "int64";
  }
  return "";
}

Kind KindOf(DType dtype) {
  if (dtype == DType::kBytes) return Kind::kBytes;
  return dtype == DType::kFloat32 ? Kind::kFloat : Kind::kInt64;
}

enum class WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

// A field of a message: its number and, by type, its number or bytes.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;     // kVarint
  std::string_view bytes;  // the others

  bool IsMessage(uint32_t wanted) const {
    return number == wanted && type == WireType::kLength;
  }
};

// Walks the fields of one message. Every read is checked against its end.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message)
      : next_(message.data()), end_(message.data() + message.size()) {}

  bool done() const { return next_ == end_; }

  // The next field; false where the bytes are no protobuf message.
  bool Next(Field& field) {
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
    return false;  // groups are not in this format
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
  bool TakeBytes(uint64_t size, Field& field) {
    if (size > static_cast<uint64_t>(end_ - next_)) return false;
    field.bytes = {next_, static_cast<size_t>(size)};
    next_ += size;
    return true;
  }

  const char* next_;
  const char* end_;
};

absl::Status Malformed() {
  return DataLoss("not a tf.train.Example: the protobuf message is malformed");
}

float FloatAt(const char* bytes) {
  float value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

bool ReadBytesList(std::string_view list, std::vector<std::string_view>& out) {
  FieldReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.IsMessage(1)) out.push_back(field.bytes);
  }
  return true;
}

bool ReadInt64List(std::string_view list, std::vector<int64_t>& out) {
  FieldReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number != 1) continue;
    if (field.type == WireType::kVarint) {
      out.push_back(static_cast<int64_t>(field.varint));
    } else if (field.type == WireType::kLength) {
      FieldReader packed(field.bytes);
      while (!packed.done()) {
        uint64_t value = 0;
        if (!packed.Varint(value)) return false;
        out.push_back(static_cast<int64_t>(value));
      }
    }
  }
  return true;
}

bool AppendPacked(std::string_view packed, std::vector<float>& out) {
  if (packed.size() % sizeof(float) != 0) return false;
  const size_t old = out.size();
  out.resize(old + packed.size() / sizeof(float));
  if (!packed.empty()) {
    std::memcpy(out.data() + old, packed.data(), packed.size());
  }
  return true;
}

bool ReadFloatList(std::string_view list, std::vector<float>& out) {
  FieldReader reader(list);
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.number != 1) continue;
    if (field.type == WireType::kFixed32) {
      out.push_back(FloatAt(field.bytes.data()));
    } else if (field.type == WireType::kLength) {
      if (!AppendPacked(field.bytes, out)) return false;
    }
  }
  return true;
}

// Walks messages as all writers write them: each field once, in order, with
// short tags. What is written otherwise is for FieldReader.
class UsualReader {
 public:
  explicit UsualReader(std::string_view message)
      : next_(message.data()), end_(message.data() + message.size()) {}

  bool done() const { return next_ == end_; }

  // The bytes of the next field, if it has that number and a length.
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
  // The same, if nothing comes after it.
  [[gnu::always_inline]] bool TakeLast(uint32_t number,
                                       std::string_view& bytes) {
    return Take(number, bytes) && done();
  }

 private:
  static unsigned Byte(const char* at) {
    return static_cast<unsigned char>(*at);
  }
  // The bytes at `at` of a length that goes on behind its first one.
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

template <class T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// a == b, for names: a call takes longer than comparing most of them.
[[gnu::always_inline]] inline bool SameName(std::string_view a,
                                            std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  const char* const x = a.data();
  const char* const y = b.data();
  if (size > 16) return std::memcmp(x, y, size) == 0;
  if (size >= 8) {
    return Load<uint64_t>(x) == Load<uint64_t>(y) &&
           Load<uint64_t>(x + size - 8) == Load<uint64_t>(y + size - 8);
  }
  if (size >= 4) {
    return Load<uint32_t>(x) == Load<uint32_t>(y) &&
           Load<uint32_t>(x + size - 4) == Load<uint32_t>(y + size - 4);
  }
  for (size_t k = 0; k < size; ++k) {
    if (x[k] != y[k]) return false;
  }
  return true;
}

// Sets the values to those of a list as all writers write it; false if it is
// not one, or has another number of them.
bool SetValues(std::string_view list, std::vector<std::string_view>& values) {
  UsualReader reader(list);
  for (std::string_view& value : values) {
    if (!reader.Take(1, value)) return false;
  }
  return reader.done();
}
bool SetValues(std::string_view list, std::vector<int64_t>& values) {
  std::string_view packed;
  if (!UsualReader(list).TakeLast(1, packed)) return false;
  FieldReader reader(packed);
  for (int64_t& value : values) {
    uint64_t varint = 0;
    if (!reader.Varint(varint)) return false;
    value = static_cast<int64_t>(varint);
  }
  return reader.done();
}
bool SetValues(std::string_view list, std::vector<float>& values) {
  std::string_view packed;
  if (!UsualReader(list).TakeLast(1, packed) ||
      packed.size() != values.size() * sizeof(float)) {
    return false;
  }
  if (!packed.empty()) std::memcpy(values.data(), packed.data(), packed.size());
  return true;
}

}  // namespace

ExampleParser::ExampleParser(std::vector<ParseExampleStep::Feature> features) {
  for (auto& feature : features) Want(std::move(feature), false);
}

ExampleParser::ExampleParser(ParseSequenceExampleStep step) {
  for (auto& feature : step.context) Want(std::move(feature), false);
  for (auto& feature : step.sequence) Want(std::move(feature), true);
}

void ExampleParser::Want(ParseExampleStep::Feature feature, bool listed) {
  FM_CHECK(feature.dtype == DType::kBytes || feature.dtype == DType::kInt64 ||
           feature.dtype == DType::kFloat32);
  Wanted wanted;
  wanted.items = 1;
  for (const int64_t dim : feature.shape) {
    if (dim != kUnknownDim) wanted.items *= static_cast<size_t>(dim);
  }
  wanted.listed = listed;
  any_listed_ = any_listed_ || listed;
  wanted.shape = feature.shape;
  if (listed) wanted.shape.insert(wanted.shape.begin(), kUnknownDim);
  wanted.feature = std::move(feature);
  wanted_.push_back(std::move(wanted));
}

absl::Status ExampleParser::Parse(std::string_view record,
                                  ChunkBuilder& builder,
                                  size_t first_component) {
  if (!ReadUsualExample(record)) {
    FM_RETURN_IF_ERROR(Locate(record));
    for (Wanted& wanted : wanted_) FM_RETURN_IF_ERROR(ReadValues(wanted));
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    Append(wanted_[i], first_component + i, builder);
  }
  return absl::OkStatus();
}

// Reads an Example as all writers write it, in one walk; false if it is not
// one, or has not what is wanted.
inline bool ExampleParser::ReadUsualExample(std::string_view record) {
  if (any_listed_) return false;
  for (Wanted& wanted : wanted_) wanted.found = false;
  next_ = 0;
  size_t missing = wanted_.size();
  std::string_view features;
  if (!UsualReader(record).TakeLast(1, features)) return false;
  UsualReader entries(features);
  std::string_view entry;
  std::string_view key;
  std::string_view value;
  while (!entries.done()) {
    if (!entries.Take(1, entry)) return false;
    UsualReader fields(entry);
    if (!fields.Take(1, key) || !fields.TakeLast(2, value)) return false;
    Wanted* const wanted = FindWanted(key);
    if (wanted == nullptr) continue;
    if (wanted->found) return false;  // the last one counts
    wanted->found = true;
    --missing;
    if (!SetUsual(value, *wanted)) return false;
  }
  if (missing == 0) return true;
  for (Wanted& wanted : wanted_) {
    if (wanted.found) continue;
    wanted.Clear();
    if (!wanted.open() || !wanted.SetShape()) return false;
  }
  return true;
}

// Example {features = 1}, Features {map<string, Feature> feature = 1};
// SequenceExample {context = 1, feature_lists = 2}, of Features and
// FeatureLists {map<string, FeatureList> feature_list = 1}.
absl::Status ExampleParser::Locate(std::string_view record) {
  for (Wanted& wanted : wanted_) wanted.found = false;
  FieldReader example(record);
  Field features;
  Field entry;
  while (!example.done()) {
    if (!example.Next(features)) return Malformed();
    const bool listed = features.IsMessage(2);
    if (!listed && !features.IsMessage(1)) continue;
    FieldReader entries(features.bytes);
    while (!entries.done()) {
      if (!entries.Next(entry)) return Malformed();
      if (entry.IsMessage(1) && !LocateEntry(entry.bytes, listed)) {
        return Malformed();
      }
    }
  }
  return absl::OkStatus();
}

// The feature of that name, not of a list; null if it is not wanted.
inline ExampleParser::Wanted* ExampleParser::FindWanted(std::string_view key) {
  for (size_t tries = 0; tries < wanted_.size(); ++tries) {
    Wanted& wanted = wanted_[next_];
    if (++next_ == wanted_.size()) next_ = 0;
    if (SameName(wanted.feature.name, key) && !wanted.listed) return &wanted;
  }
  return nullptr;
}

// Sets the values to those of a feature as all writers write it, packed; false
// if it is not one, or has not as many as are wanted.
inline bool ExampleParser::SetUsual(std::string_view message, Wanted& wanted) {
  if (wanted.open()) {
    wanted.Clear();
    return ReadUsual(message, wanted) && wanted.SetShape();
  }
  const Kind kind = KindOf(wanted.feature.dtype);
  std::string_view list;
  if (!UsualReader(message).TakeLast(static_cast<uint32_t>(kind), list)) {
    return false;
  }
  if (list.size() < wanted.items) return false;  // each takes a byte or more
  if (kind == Kind::kBytes) {
    wanted.bytes.resize(wanted.items);
    return SetValues(list, wanted.bytes);
  }
  if (kind == Kind::kFloat) {
    wanted.floats.resize(wanted.items);
    return SetValues(list, wanted.floats);
  }
  wanted.integers.resize(wanted.items);
  return SetValues(list, wanted.integers);
}

// A map entry {key = 1, value = 2}; false if it is malformed.
bool ExampleParser::LocateEntry(std::string_view entry, bool listed) {
  std::string_view key;
  std::string_view value;
  FieldReader reader(entry);
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return false;
    if (field.IsMessage(1)) key = field.bytes;
    if (field.IsMessage(2)) value = field.bytes;
  }
  for (Wanted& wanted : wanted_) {
    if (wanted.feature.name != key || wanted.listed != listed) continue;
    wanted.found = true;
    wanted.message = value;
  }
  return true;
}

absl::Status ExampleParser::ReadValues(Wanted& wanted) {
  wanted.Clear();
  if (wanted.listed) return ReadList(wanted);
  if (!wanted.found && !wanted.open()) {
    return DataLoss("the record has no feature '{}'", wanted.feature.name);
  }
  if (wanted.found) FM_RETURN_IF_ERROR(ReadFeature(wanted.message, wanted));
  if (wanted.SetShape()) return absl::OkStatus();
  return DataLoss("feature '{}' has {} values, not {}{}", wanted.feature.name,
                  wanted.count(), wanted.open() ? "a multiple of " : "",
                  wanted.items);
}

// FeatureList {repeated Feature feature = 1}.
absl::Status ExampleParser::ReadList(Wanted& wanted) {
  size_t steps = 0;
  FieldReader reader(wanted.found ? wanted.message : std::string_view());
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return Malformed();
    if (!field.IsMessage(1)) continue;
    FM_RETURN_IF_ERROR(ReadFeature(field.bytes, wanted));
    ++steps;
    if (wanted.count() == steps * wanted.items) continue;
    return DataLoss("step {} of feature list '{}' has {} values, not {}",
                    steps - 1, wanted.feature.name,
                    wanted.count() - (steps - 1) * wanted.items, wanted.items);
  }
  wanted.shape[0] = static_cast<int64_t>(steps);
  return absl::OkStatus();
}

// Adds the values of a feature as all writers write it, packed; false if it is
// not one, and none is added.
bool ExampleParser::ReadUsual(std::string_view message, Wanted& wanted) {
  const Kind kind = KindOf(wanted.feature.dtype);
  const size_t before = wanted.count();
  std::string_view list;
  if (!UsualReader(message).TakeLast(static_cast<uint32_t>(kind), list)) {
    return false;
  }
  UsualReader values(list);
  std::string_view bytes;
  if (kind == Kind::kBytes) {
    while (!values.done()) {
      if (!values.Take(1, bytes)) {
        wanted.Cut(before);
        return false;
      }
      wanted.bytes.push_back(bytes);
    }
    return true;
  }
  if (!values.TakeLast(1, bytes)) return false;
  if (kind == Kind::kFloat) return AppendPacked(bytes, wanted.floats);
  FieldReader packed(bytes);
  while (!packed.done()) {
    uint64_t value = 0;
    if (!packed.Varint(value)) {
      wanted.Cut(before);
      return false;
    }
    wanted.integers.push_back(static_cast<int64_t>(value));
  }
  return true;
}

// Feature {oneof: bytes_list = 1, float_list = 2, int64_list = 3}. Adds its
// values.
absl::Status ExampleParser::ReadFeature(std::string_view message,
                                        Wanted& wanted) {
  if (ReadUsual(message, wanted)) return absl::OkStatus();
  const size_t before = wanted.count();
  const Kind expected = KindOf(wanted.feature.dtype);
  Kind kind = Kind::kNone;
  FieldReader reader(message);
  Field field;
  while (!reader.done()) {
    if (!reader.Next(field)) return Malformed();
    if (field.type != WireType::kLength || field.number > 3) continue;
    kind = static_cast<Kind>(field.number);
    bool good = true;
    if (kind != expected) {  // the last kind of a oneof clears the others
      wanted.Cut(before);
    } else if (kind == Kind::kBytes) {
      good = ReadBytesList(field.bytes, wanted.bytes);
    } else if (kind == Kind::kFloat) {
      good = ReadFloatList(field.bytes, wanted.floats);
    } else {
      good = ReadInt64List(field.bytes, wanted.integers);
    }
    if (!good) return Malformed();
  }
  if (kind == expected || kind == Kind::kNone) return absl::OkStatus();
  return DataLoss("feature '{}' holds {}, not {}", wanted.feature.name,
                  KindName(kind), KindName(expected));
}

inline void ExampleParser::Append(const Wanted& wanted, size_t component,
                                  ChunkBuilder& builder) {
  const Shape& shape = wanted.shape;
  switch (KindOf(wanted.feature.dtype)) {
    case Kind::kBytes:
      if (shape.empty()) {
        builder.AppendBytes(component, wanted.bytes[0]);
      } else {
        builder.AppendBytesRow(component, shape, wanted.bytes);
      }
      return;
    case Kind::kFloat:
      builder.AppendDense(component, shape, wanted.floats.data(), 1);
      return;
    case Kind::kInt64:
      builder.AppendDense(component, shape, wanted.integers.data(), 1);
      return;
    case Kind::kNone:
      return;
  }
}

}  // namespace feedmill
