#include <arrow/array/array_nested.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/column_types.h"
#include "plugins/arrow/column_values.h"
#include "plugins/arrow/nested_arrays.h"

namespace feedmill {
namespace {

using arrow::Type;

// Bytes of text of one array. Damaged lists can repeat items without end.
constexpr size_t kTextBytesMax = size_t{2} << 30;

// An array, prepared so that any value of it can be written.
struct JsonValues {
  enum class Kind { kNull, kItem, kList, kStruct, kMap };
  Kind kind = Kind::kNull;
  NullMask nulls{};
  Column items{};                   // kItem
  std::vector<RowFault> faults{};   // kItem; empty: none
  std::vector<ItemRange> ranges{};  // kList, kMap: the items of each value
  std::vector<std::string> keys{};  // kStruct: the names, each with its colon
  // The items of kList; the keys and items of kMap; the members of kStruct.
  std::vector<JsonValues> children{};
};

// Appends JSON text as a key and its colon. Text that is no string is quoted.
void AppendKey(const std::string& json, std::string& out) {
  if (json.starts_with('"')) {
    out += json;
  } else {
    AppendJson(json, out);
  }
  out += ':';
}

// The units of the times that follow in the nested types.
using TimesAhead = std::span<const TimeType>;

absl::StatusOr<JsonValues> ValuesOf(std::shared_ptr<arrow::Array> array,
                                    TimesAhead& times);

// Returns the unit of an array's items, and removes it from `times`; null: the
// array's, or no time.
const TimeType* TakeTime(const arrow::DataType& type, TimesAhead& times) {
  const arrow::DataType& items =
      type.id() == Type::DICTIONARY
          ? *StorageOf(
                static_cast<const arrow::DictionaryType&>(type).value_type())
          : type;
  if (times.empty() || !TimeOfType(items)) return nullptr;
  const TimeType* const time = &times.front();
  times = times.subspan(1);
  return time;
}

absl::StatusOr<JsonValues> JsonItemsOf(const arrow::Array& array,
                                       TimesAhead& times) {
  const auto dtype = DTypeOfType(*array.type());
  if (!dtype) {
    return InvalidArgument("{} has no JSON text", array.type()->ToString());
  }
  FM_ASSIGN_OR_RETURN(
      ColumnItems items,
      ItemsOfArray(array, {}, *dtype, TakeTime(*array.type(), times)));
  JsonValues out{.kind = JsonValues::Kind::kItem};
  out.nulls = JoinNulls(array, {});
  out.items.dtype = *dtype;
  out.items.values = std::move(items.values);
  out.items.offsets = std::move(items.offsets);
  out.faults = std::move(items.faults);
  return out;
}

absl::StatusOr<JsonValues> ListsOf(const arrow::Array& array,
                                   TimesAhead& times) {
  JsonValues out{.kind = JsonValues::Kind::kList};
  out.nulls = JoinNulls(array, {});
  const std::shared_ptr<arrow::Array> values = ValuesOfList(array);
  FM_ASSIGN_OR_RETURN(out.ranges, RangesOf(array, out.nulls, values->length()));
  if (array.type_id() == Type::MAP) {
    const auto& map = static_cast<const arrow::MapArray&>(array);
    out.kind = JsonValues::Kind::kMap;
    for (const auto& member : {map.keys(), map.items()}) {
      FM_ASSIGN_OR_RETURN(out.children.emplace_back(), ValuesOf(member, times));
    }
    return out;
  }
  FM_ASSIGN_OR_RETURN(out.children.emplace_back(), ValuesOf(values, times));
  return out;
}

absl::StatusOr<JsonValues> FixedListsOf(const arrow::FixedSizeListArray& array,
                                        TimesAhead& times) {
  JsonValues out{.kind = JsonValues::Kind::kList};
  out.nulls = JoinNulls(array, {});
  const int64_t size = array.list_type()->list_size();
  const int64_t begin = array.value_offset(0);
  for (int64_t row = 0; row < array.length(); ++row) {
    out.ranges.push_back({row * size, size});
  }
  FM_ASSIGN_OR_RETURN(
      out.children.emplace_back(),
      ValuesOf(array.values()->Slice(begin, array.length() * size), times));
  return out;
}

absl::StatusOr<JsonValues> StructsOf(const arrow::StructArray& array,
                                     TimesAhead& times) {
  JsonValues out{.kind = JsonValues::Kind::kStruct};
  out.nulls = JoinNulls(array, {});
  for (int k = 0; k < array.num_fields(); ++k) {
    std::string name;
    AppendJson(array.struct_type()->field(k)->name(), name);
    AppendKey(name, out.keys.emplace_back());
    FM_ASSIGN_OR_RETURN(out.children.emplace_back(),
                        ValuesOf(array.field(k), times));
  }
  return out;
}

absl::StatusOr<JsonValues> ValuesOf(std::shared_ptr<arrow::Array> array,
                                    TimesAhead& times) {
  array = WithoutExtension(std::move(array));
  switch (array->type_id()) {
    case Type::NA:
      return JsonValues{};
    case Type::STRUCT:
      return StructsOf(static_cast<const arrow::StructArray&>(*array), times);
    case Type::FIXED_SIZE_LIST:
      return FixedListsOf(static_cast<const arrow::FixedSizeListArray&>(*array),
                          times);
    default:
      return IsAnyLengthList(array->type_id()) ? ListsOf(*array, times)
                                               : JsonItemsOf(*array, times);
  }
}

class JsonWriter {
 public:
  // Appends value k. `fault` becomes the fault of a value without a JSON text.
  void Append(const JsonValues& of, size_t k, RowFault& fault);

  const std::string& text() const { return text_; }
  std::string TakeText() { return std::move(text_); }
  bool full() const { return text_.size() > kTextBytesMax; }

 private:
  using Kind = JsonValues::Kind;

  void AppendItem(const JsonValues& of, size_t k, RowFault& fault);
  void AppendList(const JsonValues& of, size_t k, RowFault& fault);
  void AppendMap(const JsonValues& of, size_t k, RowFault& fault);
  void AppendStruct(const JsonValues& of, size_t k, RowFault& fault);

  std::string text_;
};

void JsonWriter::AppendItem(const JsonValues& of, size_t k, RowFault& fault) {
  const RowFault own = of.faults.empty() ? RowFault::kNone : of.faults[k];
  if (own == RowFault::kNull) {  // a null of a dictionary
    text_ += "null";
    return;
  }
  if (own != RowFault::kNone) fault = own;
  AppendJsonItem(of.items, static_cast<int64_t>(k), text_);
}

void JsonWriter::AppendList(const JsonValues& of, size_t k, RowFault& fault) {
  const auto [begin, count] = of.ranges[k];
  text_ += '[';
  for (int64_t item = begin; item < begin + count && !full(); ++item) {
    if (item > begin) text_ += ',';
    Append(of.children[0], static_cast<size_t>(item), fault);
  }
  text_ += ']';
}

void JsonWriter::AppendMap(const JsonValues& of, size_t k, RowFault& fault) {
  const auto [begin, count] = of.ranges[k];
  text_ += '{';
  for (int64_t item = begin; item < begin + count && !full(); ++item) {
    if (item > begin) text_ += ',';
    const size_t key = text_.size();
    Append(of.children[0], static_cast<size_t>(item), fault);
    const std::string json = text_.substr(key);
    text_.resize(key);
    AppendKey(json, text_);
    Append(of.children[1], static_cast<size_t>(item), fault);
  }
  text_ += '}';
}

void JsonWriter::AppendStruct(const JsonValues& of, size_t k, RowFault& fault) {
  text_ += '{';
  for (size_t member = 0; member < of.children.size(); ++member) {
    if (member > 0) text_ += ',';
    text_ += of.keys[member];
    Append(of.children[member], k, fault);
  }
  text_ += '}';
}

void JsonWriter::Append(const JsonValues& of, size_t k, RowFault& fault) {
  if (of.kind == Kind::kNull || (!of.nulls.empty() && of.nulls[k] != 0)) {
    text_ += "null";
    return;
  }
  switch (of.kind) {
    case Kind::kNull:
      return;
    case Kind::kItem:
      return AppendItem(of, k, fault);
    case Kind::kList:
      return AppendList(of, k, fault);
    case Kind::kStruct:
      return AppendStruct(of, k, fault);
    case Kind::kMap:
      return AppendMap(of, k, fault);
  }
}

}  // namespace

absl::StatusOr<ColumnItems> JsonTexts(
    const std::shared_ptr<arrow::Array>& array, const NullMask& outside,
    std::span<const TimeType> times) {
  FM_RETURN_IF_ARROW(array->Validate());
  const NullMask nulls = JoinNulls(*array, outside);
  FM_ASSIGN_OR_RETURN(const JsonValues values, ValuesOf(array, times));
  ColumnItems out{.count = static_cast<size_t>(array->length()),
                  .values = {},
                  .offsets = {}};
  std::vector<int64_t> offsets(1, 0);
  JsonWriter writer;
  for (size_t row = 0; row < out.count; ++row) {
    RowFault fault = RowFault::kNone;
    if (nulls.empty() || nulls[row] == 0) writer.Append(values, row, fault);
    if (writer.full()) {
      return DataLoss(
          "its JSON texts take more than {} bytes in one row group; leave it "
          "out with `columns`",
          kTextBytesMax);
    }
    if (fault != RowFault::kNone) {
      out.faults.resize(out.count);
      out.faults[row] = fault;
    }
    offsets.push_back(static_cast<int64_t>(writer.text().size()));
  }
  const auto text = std::make_shared<const std::string>(writer.TakeText());
  out.values = Buffer(text, reinterpret_cast<const std::byte*>(text->data()),
                      text->size());
  out.offsets = BufferOf(std::move(offsets));
  return out;
}

}  // namespace feedmill
