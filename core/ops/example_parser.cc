#include "core/ops/example_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/ops/example_layout.h"
#include "core/ops/protobuf_fields.h"

namespace feedmill {
namespace {

static_assert(std::endian::native == std::endian::little);

// The kinds of a Feature; the values are its field numbers.
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

// Rows that are read together before they are appended column by column. They
// are few enough to stay in the cache.
constexpr size_t kRowsTogether = 64;
constexpr size_t kBytesTogether = size_t{64} << 10;
// A layout is learnt after this many consecutive records of one size. If the
// records differ elsewhere, it is learnt again after kAlikeToLearnAgain
// records.
constexpr size_t kAlikeToLearn = 8;
constexpr size_t kAlikeToLearnAgain = 256;

absl::Status Malformed() {
  return DataLoss("not a tf.train.Example: the protobuf message is malformed");
}

template <class T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// a == b for names: inlined, because a call takes longer than most comparisons.
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

// Decodes a packed list into `values`; false if it has another number of
// values.
bool SetPacked(std::string_view packed, std::span<int64_t> values) {
  FieldReader reader(packed);
  for (int64_t& value : values) {
    uint64_t varint = 0;
    if (!reader.Varint(varint)) return false;
    value = static_cast<int64_t>(varint);
  }
  return reader.done();
}
bool SetPacked(std::string_view packed, std::span<float> values) {
  if (packed.size() != values.size_bytes()) return false;
  if (!packed.empty()) std::memcpy(values.data(), packed.data(), packed.size());
  return true;
}

// Decodes a list in the usual form into `values`; false if it has another form
// or number of values.
bool SetValues(std::string_view list, std::span<std::string_view> values) {
  UsualReader reader(list);
  for (std::string_view& value : values) {
    if (!reader.Take(1, value)) return false;
  }
  return reader.done();
}
template <class Number>
bool SetValues(std::string_view list, std::span<Number> values) {
  std::string_view packed;
  return UsualReader(list).TakeLast(1, packed) && SetPacked(packed, values);
}

}  // namespace

absl::Status ExampleParser::CheckDefault(const Feature& feature) {
  int64_t integer = 0;
  float real = 0;
  if (ParseDefault(feature, integer, real)) return absl::OkStatus();
  return InvalidArgument("the default of {}, \"{}\", is no {}", feature.name,
                         *feature.default_text, DTypeName(feature.dtype));
}

ExampleParser::ExampleParser(Features features) {
  for (auto& feature : features) Want(std::move(feature), false);
}

ExampleParser::ExampleParser(ParseSequenceExampleStep step) {
  for (auto& feature : step.context) Want(std::move(feature), false);
  for (auto& feature : step.sequence) Want(std::move(feature), true);
}

void ExampleParser::Want(Feature feature, bool listed) {
  FM_CHECK(feature.dtype == DType::kBytes || feature.dtype == DType::kInt64 ||
           feature.dtype == DType::kFloat32);
  Wanted wanted;
  wanted.items = 1;
  for (const int64_t dim : feature.shape) {
    if (dim != kUnknownDim) wanted.items *= static_cast<size_t>(dim);
  }
  wanted.listed = listed;
  wanted.open = !feature.shape.empty() && feature.shape[0] == kUnknownDim;
  any_listed_ = any_listed_ || listed;
  all_fixed_ = all_fixed_ && wanted.fixed();
  wanted.shape = feature.shape;
  if (listed) wanted.shape.insert(wanted.shape.begin(), kUnknownDim);
  wanted.feature = std::move(feature);
  FM_CHECK(ParseDefault(wanted.feature, wanted.default_integer,
                        wanted.default_float));
  wanted_.push_back(std::move(wanted));
}

absl::Status ExampleParser::Parse(std::span<const std::string_view> records,
                                  ChunkBuilder& builder, size_t& failed) {
  for (size_t begin = 0; begin < records.size();) {
    const size_t most = std::min(kRowsTogether, records.size() - begin);
    size_t rows = 0;
    for (size_t bytes = 0; rows < most && bytes < kBytesTogether; ++rows) {
      const std::string_view record = records[begin + rows];
      bytes += record.size();
      failed = begin + rows;
      FM_RETURN_IF_ERROR(ReadRow(record, rows));
      if (all_fixed_) continue;
      for (size_t c = 0; c < wanted_.size(); ++c) {
        if (!wanted_[c].fixed()) AppendRow(wanted_[c], c, builder);
      }
    }
    for (size_t c = 0; c < wanted_.size(); ++c) {
      if (wanted_[c].fixed()) AppendRows(rows, c, wanted_[c], builder);
    }
    begin += rows;
  }
  return absl::OkStatus();
}

// Reads the values of a record into row `row` of the rows that are read
// together. Values of features that are not fixed go to `values`.
inline absl::Status ExampleParser::ReadRow(std::string_view record,
                                           size_t row) {
  if (ReadLikeLearnt(record, row)) {
    walked_alike_ = 0;
    return absl::OkStatus();
  }
  if (ReadUsualExample(record, row)) {
    if (record.size() != std::exchange(walked_size_, record.size())) {
      walked_alike_ = 0;
    }
    if (++walked_alike_ % kAlikeToLearnAgain == kAlikeToLearn && all_fixed_) {
      LearnLayout(record);
    }
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(Locate(record));
  for (Wanted& wanted : wanted_) {
    FM_RETURN_IF_ERROR(ReadValues(wanted));
    if (wanted.fixed()) PutIntoRow(row, wanted);
  }
  return absl::OkStatus();
}

// Reads a record that differs from the learnt one in values only; false
// otherwise.
inline bool ExampleParser::ReadLikeLearnt(std::string_view record, size_t row) {
  if (!layout_.Fits(record)) return false;
  for (Wanted& wanted : wanted_) {
    const auto part = [&](const ByteSpan& place) {
      return std::string_view(record.data() + place.begin, place.size);
    };
    switch (KindOf(wanted.feature.dtype)) {
      case Kind::kBytes:
        std::ranges::transform(
            wanted.places, wanted.Row(wanted.rows.bytes, row).begin(), part);
        break;
      case Kind::kFloat:
        SetPacked(part(wanted.places[0]), wanted.Row(wanted.rows.floats, row));
        break;
      case Kind::kInt64:
        if (!SetPacked(part(wanted.places[0]),
                       wanted.Row(wanted.rows.integers, row))) {
          return false;
        }
        break;
      case Kind::kNone:
        break;
    }
  }
  return true;
}

// REQUIRES: ReadUsualExample has read the record, and all features are fixed.
void ExampleParser::LearnLayout(std::string_view record) {
  std::string_view features;
  std::string_view entry;
  std::string_view key;
  std::string_view value;
  std::string_view list;
  layout_.Begin(record);
  const auto leave = [&](std::string_view part) {
    layout_.Leave(part);
    return ByteSpan{static_cast<size_t>(part.data() - record.data()),
                    part.size()};
  };
  FM_CHECK(UsualReader(record).TakeLast(1, features));
  UsualReader entries(features);
  next_ = 0;
  while (entries.Take(1, entry)) {
    UsualReader fields(entry);
    FM_CHECK(fields.Take(1, key) && fields.TakeLast(2, value));
    Wanted* const wanted = FindWanted(key);
    if (wanted == nullptr) {
      leave(value);
      continue;
    }
    const Kind kind = KindOf(wanted->feature.dtype);
    FM_CHECK(UsualReader(value).TakeLast(static_cast<uint32_t>(kind), list));
    wanted->places.clear();
    UsualReader parts(list);
    while (parts.Take(1, value)) wanted->places.push_back(leave(value));
  }
  layout_.Finish();
}

// Reads an Example in the usual form in one pass; false if it has another form
// or lacks a requested feature.
inline bool ExampleParser::ReadUsualExample(std::string_view record,
                                            size_t row) {
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
    if (wanted->found) return false;  // a repeated key: the last one wins
    wanted->found = true;
    --missing;
    if (!SetUsual(value, row, *wanted)) return false;
  }
  if (missing == 0) return true;
  for (Wanted& wanted : wanted_) {
    if (wanted.found) continue;
    wanted.values.Clear();
    if (!wanted.open || !wanted.SetShape()) return false;
  }
  return true;
}

// Locates the requested features: Example {features = 1}, Features {map<string,
// Feature> feature = 1}; SequenceExample {context = 1, feature_lists = 2} with
// Features and FeatureLists {map<string, FeatureList> feature_list = 1}.
absl::Status ExampleParser::Locate(std::string_view record) {
  for (Wanted& wanted : wanted_) wanted.found = false;
  FieldReader example(record);
  ProtobufField features;
  ProtobufField entry;
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

// Returns the requested feature (not feature list) of that name; null if there
// is none.
inline ExampleParser::Wanted* ExampleParser::FindWanted(std::string_view key) {
  for (size_t tries = 0; tries < wanted_.size(); ++tries) {
    Wanted& wanted = wanted_[next_];
    if (++next_ == wanted_.size()) next_ = 0;
    if (SameName(wanted.feature.name, key) && !wanted.listed) return &wanted;
  }
  return nullptr;
}

// Reads a feature in the usual, packed form; false if it has another form or
// number of values.
inline bool ExampleParser::SetUsual(std::string_view message, size_t row,
                                    Wanted& wanted) {
  if (wanted.open) {
    wanted.values.Clear();
    return ReadUsual(message, wanted) && wanted.SetShape();
  }
  const Kind kind = KindOf(wanted.feature.dtype);
  std::string_view list;
  if (!UsualReader(message).TakeLast(static_cast<uint32_t>(kind), list)) {
    return false;
  }
  if (list.size() < wanted.items)
    return false;  // each value takes at least a byte
  Values& rows = wanted.rows;
  if (kind == Kind::kBytes) {
    return SetValues(list, wanted.Row(rows.bytes, row));
  }
  if (kind == Kind::kFloat) {
    return SetValues(list, wanted.Row(rows.floats, row));
  }
  return SetValues(list, wanted.Row(rows.integers, row));
}

// Reads a map entry {key = 1, value = 2}; false if it is malformed.
bool ExampleParser::LocateEntry(std::string_view entry, bool listed) {
  std::string_view key;
  std::string_view value;
  FieldReader reader(entry);
  ProtobufField field;
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
  wanted.values.Clear();
  if (wanted.listed) return ReadList(wanted);
  const bool has_default = wanted.feature.default_text.has_value();
  if (!wanted.found && !wanted.open && !has_default) {
    return DataLoss(
        "the record has no feature '{}'; give it a default, as in {}: \"{} = "
        "...\"",
        wanted.feature.name, wanted.feature.name,
        DTypeName(wanted.feature.dtype));
  }
  if (wanted.found) FM_RETURN_IF_ERROR(ReadFeature(wanted.message, wanted));
  if (has_default && wanted.values.count() == 0) SetDefault(wanted);
  if (wanted.SetShape()) return absl::OkStatus();
  return DataLoss("feature '{}' has {} values, not {}{}", wanted.feature.name,
                  wanted.values.count(), wanted.open ? "a multiple of " : "",
                  wanted.items);
}

// Sets the default values of a feature that is missing or has no values.
void ExampleParser::SetDefault(Wanted& wanted) {
  switch (KindOf(wanted.feature.dtype)) {
    case Kind::kBytes:
      wanted.values.bytes.assign(wanted.items, *wanted.feature.default_text);
      break;
    case Kind::kFloat:
      wanted.values.floats.assign(wanted.items, wanted.default_float);
      break;
    case Kind::kInt64:
      wanted.values.integers.assign(wanted.items, wanted.default_integer);
      break;
    case Kind::kNone:
      break;
  }
}

// Reads FeatureList {repeated Feature feature = 1}.
absl::Status ExampleParser::ReadList(Wanted& wanted) {
  size_t steps = 0;
  FieldReader reader(wanted.found ? wanted.message : std::string_view());
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return Malformed();
    if (!field.IsMessage(1)) continue;
    FM_RETURN_IF_ERROR(ReadFeature(field.bytes, wanted));
    ++steps;
    if (wanted.values.count() == steps * wanted.items) continue;
    return DataLoss("step {} of feature list '{}' has {} values, not {}",
                    steps - 1, wanted.feature.name,
                    wanted.values.count() - (steps - 1) * wanted.items,
                    wanted.items);
  }
  wanted.shape[0] = static_cast<int64_t>(steps);
  return absl::OkStatus();
}

// Appends the values of a feature in the usual, packed form; if it has another
// form, returns false and appends none.
bool ExampleParser::ReadUsual(std::string_view message, Wanted& wanted) {
  const Kind kind = KindOf(wanted.feature.dtype);
  const size_t before = wanted.values.count();
  std::string_view list;
  if (!UsualReader(message).TakeLast(static_cast<uint32_t>(kind), list)) {
    return false;
  }
  UsualReader values(list);
  std::string_view bytes;
  if (kind == Kind::kBytes) {
    while (!values.done()) {
      if (!values.Take(1, bytes)) {
        wanted.values.Cut(before);
        return false;
      }
      wanted.values.bytes.push_back(bytes);
    }
    return true;
  }
  if (!values.TakeLast(1, bytes)) return false;
  if (kind == Kind::kFloat) return AppendPacked(bytes, wanted.values.floats);
  FieldReader packed(bytes);
  while (!packed.done()) {
    uint64_t value = 0;
    if (!packed.Varint(value)) {
      wanted.values.Cut(before);
      return false;
    }
    wanted.values.integers.push_back(static_cast<int64_t>(value));
  }
  return true;
}

// Appends the values of Feature {oneof: bytes_list = 1, float_list = 2,
// int64_list = 3}.
absl::Status ExampleParser::ReadFeature(std::string_view message,
                                        Wanted& wanted) {
  if (ReadUsual(message, wanted)) return absl::OkStatus();
  const size_t before = wanted.values.count();
  const Kind expected = KindOf(wanted.feature.dtype);
  Kind kind = Kind::kNone;
  FieldReader reader(message);
  ProtobufField field;
  while (!reader.done()) {
    if (!reader.Next(field)) return Malformed();
    if (field.type != WireType::kLength || field.number > 3) continue;
    kind = static_cast<Kind>(field.number);
    bool good = true;
    if (kind != expected) {  // the last kind of a oneof clears all others
      wanted.values.Cut(before);
    } else if (kind == Kind::kBytes) {
      good = ReadBytesList(field.bytes, wanted.values.bytes);
    } else if (kind == Kind::kFloat) {
      good = ReadFloatList(field.bytes, wanted.values.floats);
    } else {
      good = ReadInt64List(field.bytes, wanted.values.integers);
    }
    if (!good) return Malformed();
  }
  if (kind == expected || kind == Kind::kNone) return absl::OkStatus();
  return DataLoss("feature '{}' holds {}, not {}", wanted.feature.name,
                  KindName(kind), KindName(expected));
}

// Moves the values of a fixed feature into row `row`.
void ExampleParser::PutIntoRow(size_t row, Wanted& wanted) {
  const Values& values = wanted.values;
  switch (KindOf(wanted.feature.dtype)) {
    case Kind::kBytes:
      std::ranges::copy(values.bytes,
                        wanted.Row(wanted.rows.bytes, row).begin());
      break;
    case Kind::kFloat:
      std::ranges::copy(values.floats,
                        wanted.Row(wanted.rows.floats, row).begin());
      break;
    case Kind::kInt64:
      std::ranges::copy(values.integers,
                        wanted.Row(wanted.rows.integers, row).begin());
      break;
    case Kind::kNone:
      break;
  }
}

// Appends the row of a feature that is not fixed.
void ExampleParser::AppendRow(const Wanted& wanted, size_t component,
                              ChunkBuilder& builder) {
  const Values& values = wanted.values;
  switch (KindOf(wanted.feature.dtype)) {
    case Kind::kBytes:
      builder.AppendBytesRow(component, wanted.shape, values.bytes);
      break;
    case Kind::kFloat:
      builder.AppendDense(component, wanted.shape, values.floats.data(), 1);
      break;
    case Kind::kInt64:
      builder.AppendDense(component, wanted.shape, values.integers.data(), 1);
      break;
    case Kind::kNone:
      break;
  }
}

// Appends the rows of a fixed feature.
void ExampleParser::AppendRows(size_t rows, size_t component, Wanted& wanted,
                               ChunkBuilder& builder) {
  const Shape& shape = wanted.shape;
  switch (KindOf(wanted.feature.dtype)) {
    case Kind::kBytes:
      for (size_t row = 0; row < rows; ++row) {
        const auto values = wanted.Row(wanted.rows.bytes, row);
        if (shape.empty()) {
          builder.AppendBytes(component, values[0]);
        } else {
          wanted.values.bytes.assign(values.begin(), values.end());
          builder.AppendBytesRow(component, shape, wanted.values.bytes);
        }
      }
      break;
    case Kind::kFloat:
      builder.AppendDense(component, shape, wanted.rows.floats.data(), rows);
      break;
    case Kind::kInt64:
      builder.AppendDense(component, shape, wanted.rows.integers.data(), rows);
      break;
    case Kind::kNone:
      break;
  }
}

}  // namespace feedmill
