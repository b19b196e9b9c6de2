#include "plugins/arrow/column_types.h"

#include <arrow/extension_type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/sources/record_decoder.h"
#include "plugins/arrow/nested_arrays.h"

namespace feedmill {
namespace {

using arrow::DataType;
using arrow::Type;

// Decimal digits that float64 preserves in a round trip.
constexpr int kFloat64Digits = 15;
// Maximum length of the column names in an error.
constexpr size_t kNamesBytes = 80;

// Returns the item type of a list type, or null.
std::shared_ptr<DataType> ItemsOf(const DataType& type) {
  switch (type.id()) {
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return StorageOf(type.field(0)->type());
    default:
      return nullptr;
  }
}

// Returns what the items of `dtype` of a type stand for.
LogicalType LogicalOf(const DataType& type, DType dtype) {
  if (type.id() == Type::DICTIONARY) {
    const auto& values =
        static_cast<const arrow::DictionaryType&>(type).value_type();
    return LogicalOf(*StorageOf(values), dtype);
  }
  if (dtype == DType::kBytes) {
    const bool binary =
        type.id() == Type::BINARY || type.id() == Type::LARGE_BINARY ||
        type.id() == Type::BINARY_VIEW || type.id() == Type::FIXED_SIZE_BINARY;
    return binary ? LogicalType::kNone : LogicalType::kString;
  }
  const auto time = TimeOfType(type);
  return time ? LogicalOfTime(*time) : LogicalType::kNone;
}

// Returns the component of numbers or texts; nullopt for other types.
std::optional<SourceField> ItemComponentOf(std::shared_ptr<DataType> type) {
  SourceField field;
  if (const auto items = ItemsOf(*type)) {
    field.shape = {kUnknownDim};
    type = items;
  } else {
    while (type->id() == Type::FIXED_SIZE_LIST) {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
      field.shape.push_back(list.list_size());
      type = StorageOf(list.value_type());
    }
  }
  const auto dtype = DTypeOfType(*type);
  if (!dtype) return std::nullopt;
  field.dtype = *dtype;
  field.logical = LogicalOf(*type, *dtype);
  return field;
}

// True if a value of the type can be written as JSON text.
bool HasJsonText(const DataType& type) {
  const bool has_children = type.id() == Type::STRUCT ||
                            type.id() == Type::FIXED_SIZE_LIST ||
                            IsAnyLengthList(type.id());
  if (!has_children) return type.id() == Type::NA || DTypeOfType(type);
  return std::ranges::all_of(type.fields(), [](const auto& child) {
    return HasJsonText(*StorageOf(child->type()));
  });
}

// Returns the component for a type; nullopt if no component can hold it.
std::optional<SourceField> ComponentOf(const std::shared_ptr<DataType>& type) {
  if (const auto items = ItemComponentOf(type)) return items;
  if (!BecomesJson(type)) return std::nullopt;
  SourceField json;
  json.logical = LogicalType::kString;
  return json;
}

// Appends the times among the values of a type.
void AddTimes(const DataType& type, std::vector<TimeType>& out) {
  if (const auto time = TimeOfType(type)) out.push_back(*time);
  if (type.id() == Type::DICTIONARY) {
    AddTimes(*StorageOf(
                 static_cast<const arrow::DictionaryType&>(type).value_type()),
             out);
  }
  for (const auto& child : type.fields()) {
    AddTimes(*StorageOf(child->type()), out);
  }
}

// Appends the paths to all numbers and texts in nested structs. Returns false
// if a member is of another type.
bool AddScalars(const DataType& type, const std::string& prefix,
                std::vector<int>& path, std::vector<FlatColumn>& out) {
  for (int k = 0; k < type.num_fields(); ++k) {
    const std::string name = prefix + "." + type.field(k)->name();
    const auto member = StorageOf(type.field(k)->type());
    path.push_back(k);
    if (member->id() == Type::STRUCT && member->num_fields() > 0) {
      if (!AddScalars(*member, name, path, out)) return false;
    } else if (const auto dtype = DTypeOfType(*member)) {
      FlatColumn& column = out.emplace_back();
      column.column.field = {name, *dtype, {kUnknownDim}};
      column.column.field.logical = LogicalOf(*member, *dtype);
      column.in_items = path;
      column.type = arrow::list(member);
      AddTimes(*member, column.column.times);
    } else {
      return false;
    }
    path.pop_back();
  }
  return true;
}

// Appends a list of structs as a list for each member. Returns false if the
// type is another, or if a member is neither a number nor a text.
bool FlattenItems(const DataType& type, const std::string& name,
                  const std::vector<int>& path, std::vector<FlatColumn>& out) {
  const auto items = ItemsOf(type);
  if (items == nullptr || items->id() != Type::STRUCT ||
      items->num_fields() == 0) {
    return false;
  }
  std::vector<FlatColumn> members;
  std::vector<int> in_items;
  if (!AddScalars(*items, name, in_items, members)) return false;
  for (FlatColumn& member : members) {
    member.path = path;
    out.push_back(std::move(member));
  }
  return true;
}

void Flatten(const arrow::Field& field, const std::string& prefix,
             std::vector<int>& path, std::vector<FlatColumn>& out) {
  const std::string name = prefix + field.name();
  const auto type = StorageOf(field.type());
  if (type->id() == Type::STRUCT && type->num_fields() > 0) {
    for (int k = 0; k < type->num_fields(); ++k) {
      path.push_back(k);
      Flatten(*type->field(k), name + ".", path, out);
      path.pop_back();
    }
    return;
  }
  if (FlattenItems(*type, name, path, out)) return;
  FlatColumn column;
  column.path = path;
  column.type = type;
  if (const auto component = ComponentOf(type)) {
    column.column.field = *component;
    AddTimes(*type, column.column.times);
  } else {
    column.column.unreadable = Shown(type->ToString());
  }
  column.column.field.name = name;
  out.push_back(std::move(column));
}

// True if single values of a type can become `dtype`.
bool Becomes(const DataType& type, DType dtype) {
  const auto own = DTypeOfType(type);
  if (!own) return type.id() == Type::NA;
  if (type.id() == Type::DICTIONARY) {
    return Becomes(
        *StorageOf(
            static_cast<const arrow::DictionaryType&>(type).value_type()),
        dtype);
  }
  if (arrow::is_decimal(type.id())) {
    return dtype == DType::kBytes || IsFloat(dtype) ||
           (dtype == DType::kInt64 &&
            static_cast<const arrow::DecimalType&>(type).scale() == 0);
  }
  if (*own == dtype) return true;
  const auto number = [](DType of) { return IsInteger(of) || IsFloat(of); };
  return number(*own) && number(dtype);
}

// True if values of a type can become values of `field`.
bool TypeBecomes(std::shared_ptr<DataType> type, const SourceField& field) {
  if (type->id() == Type::NA) {
    return field.shape.empty() || field.shape[0] == kUnknownDim;
  }
  if (field.shape.empty() && field.dtype == DType::kBytes &&
      BecomesJson(type)) {
    return true;
  }
  if (const auto items = ItemsOf(*type)) {
    return field.shape.size() == 1 && field.shape[0] == kUnknownDim &&
           Becomes(*items, field.dtype);
  }
  for (const int64_t dim : field.shape) {
    if (type->id() != Type::FIXED_SIZE_LIST) return false;
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
    if (list.list_size() != dim) return false;
    type = StorageOf(list.value_type());
  }
  return Becomes(*type, field.dtype);
}

}  // namespace

std::optional<DType> DTypeOfType(const DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
      return DType::kBool;
    case Type::INT8:
      return DType::kInt8;
    case Type::INT16:
      return DType::kInt16;
    case Type::INT32:
      return DType::kInt32;
    case Type::INT64:
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIME32:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return DType::kInt64;
    case Type::UINT8:
      return DType::kUInt8;
    case Type::UINT16:
      return DType::kUInt16;
    case Type::UINT32:
      return DType::kUInt32;
    case Type::UINT64:
      return DType::kUInt64;
    case Type::HALF_FLOAT:
      return DType::kFloat16;
    case Type::FLOAT:
      return DType::kFloat32;
    case Type::DOUBLE:
      return DType::kFloat64;
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return DType::kBytes;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return static_cast<const arrow::DecimalType&>(type).precision() <=
                     kFloat64Digits
                 ? DType::kFloat64
                 : DType::kBytes;
    case Type::DICTIONARY:
      return DTypeOfType(*StorageOf(
          static_cast<const arrow::DictionaryType&>(type).value_type()));
    default:
      return std::nullopt;
  }
}

std::optional<TimeType> TimeOfType(const DataType& type) {
  using Kind = TimeType::Kind;
  const auto of = [](Kind kind, arrow::TimeUnit::type unit) {
    constexpr int64_t kNanos[] = {1'000'000'000, 1'000'000, 1'000, 1};
    return TimeType{kind, kNanos[unit]};  // SECOND, MILLI, MICRO, NANO
  };
  switch (type.id()) {
    case Type::DATE32:
      return TimeType{Kind::kInstant, int64_t{86'400} * 1'000'000'000};
    case Type::DATE64:
      return TimeType{Kind::kInstant, 1'000'000};
    case Type::TIMESTAMP:
      return of(Kind::kInstant,
                static_cast<const arrow::TimestampType&>(type).unit());
    case Type::TIME32:
    case Type::TIME64:
      return of(Kind::kTimeOfDay,
                static_cast<const arrow::TimeType&>(type).unit());
    case Type::DURATION:
      return of(Kind::kDuration,
                static_cast<const arrow::DurationType&>(type).unit());
    default:
      return std::nullopt;
  }
}

bool ViewsAreSafe(const FlatColumn& column) {
  if (!column.in_items.empty()) return false;
  std::shared_ptr<DataType> type = StorageOf(column.type);
  bool in_list = false;
  if (type->id() == Type::LIST || type->id() == Type::LARGE_LIST) {
    type = StorageOf(type->field(0)->type());
    in_list = true;
  }
  while (!in_list && type->id() == Type::FIXED_SIZE_LIST) {
    type = StorageOf(type->field(0)->type());
  }
  switch (type->id()) {
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return !in_list;
    default:
      return arrow::is_primitive(type->id());
  }
}

bool BecomesJson(const std::shared_ptr<DataType>& type) {
  return arrow::is_nested(type->id()) && !ItemComponentOf(type) &&
         HasJsonText(*type);
}

std::shared_ptr<DataType> StorageOf(const std::shared_ptr<DataType>& type) {
  std::shared_ptr<DataType> storage = type;
  while (storage->id() == Type::EXTENSION) {
    storage = static_cast<const arrow::ExtensionType&>(*storage).storage_type();
  }
  return storage;
}

std::vector<FlatColumn> FlattenSchema(const arrow::Schema& schema) {
  std::vector<FlatColumn> out;
  std::vector<int> path;
  for (int k = 0; k < schema.num_fields(); ++k) {
    path.assign(1, k);
    Flatten(*schema.field(k), "", path, out);
  }
  return out;
}

absl::StatusOr<const FlatColumn*> FindColumn(
    const std::vector<FlatColumn>& columns, const SourceField& field) {
  const FlatColumn* found = nullptr;
  for (const FlatColumn& column : columns) {
    if (column.column.field.name != field.name) continue;
    if (found != nullptr) {
      return InvalidArgument(
          "there are two columns \"{}\", of which one may be a member of a "
          "struct; rename one",
          Shown(field.name));
    }
    found = &column;
  }
  if (found != nullptr) {
    if (TypeBecomes(found->type, field)) return found;
    return InvalidArgument(
        "the column \"{}\" is {} here, which does not become {}{}; declare "
        "`fields` that all files have, or leave the file out",
        Shown(field.name), Shown(found->type->ToString()),
        DTypeName(field.dtype), ShapeToString(field.shape));
  }
  std::string names;
  for (const FlatColumn& column : columns) {
    if (names.size() > kNamesBytes) break;
    names += (names.empty() ? "" : ", ") + column.column.field.name;
  }
  return InvalidArgument("there is no column \"{}\"; the columns are {}",
                         Shown(field.name), Shown(names));
}

}  // namespace feedmill
