#include "tests/reference/lookups.h"

#include <algorithm>
#include <optional>

#include "core/dataset/source_types.h"
#include "tests/reference/expression.h"
#include "tests/reference/source_records.h"

namespace feedmill::reference {
namespace {

std::string KeyOf(const LookupStep& step) {
  return step.table_key.empty() ? step.key : step.table_key;
}

const Tensor* Looked(const Element& element, const std::string& name) {
  for (const Component& c : element)
    if ((c.name.empty() ? "x" : c.name) == name) return &c.value;
  return nullptr;
}

// True if the value is there and not null.
bool IsThere(const Element& element, const std::string& name) {
  const Tensor* valid = Looked(element, "valid(" + name + ")");
  return valid == nullptr || valid->numbers.at(0) != 0;
}

std::optional<Element> RowWith(const LookupStep& step, const Tensor& key) {
  std::vector<std::vector<Element>> records;
  std::vector<uint64_t> sizes;
  RecordsOf(step.table.at(0).source, false, records, sizes);
  for (const auto& block : records)
    for (const Element& record : block) {
      const Element row = Sound(record);
      const Tensor& other = *Looked(row, KeyOf(step));
      if (IsThere(row, KeyOf(step)) && other.numbers == key.numbers &&
          other.strings == key.strings)
        return row;
    }
  return std::nullopt;
}

// A row of zeros and empty texts.
Element NoRow(const LookupStep& step) {
  Element row;
  for (const SourceField& field : *SourceFields(step.table.at(0).source)) {
    Tensor none{field.dtype, field.shape, {}, {}};
    size_t items = 1;
    for (int64_t& dim : none.shape) {
      dim = std::max<int64_t>(dim, 0);
      items *= static_cast<size_t>(dim);
    }
    if (field.dtype == DType::kBytes)
      none.strings.resize(items);
    else
      none.numbers.resize(items);
    row.push_back({field.name, none});
  }
  return row;
}

}  // namespace

std::vector<std::string> LookedUp(const LookupStep& step) {
  std::vector<std::string> names;
  for (const SourceField& field : *SourceFields(step.table.at(0).source)) {
    const bool chosen =
        step.columns.empty() ||
        std::count(step.columns.begin(), step.columns.end(), field.name) > 0;
    if (chosen && field.name != KeyOf(step) &&
        !field.name.starts_with("valid("))
      names.push_back(field.name);
  }
  return names;
}

bool LookUp(const LookupStep& step, Element& element) {
  std::optional<Element> row;
  if (IsThere(element, step.key))
    row = RowWith(step, *Looked(element, step.key));
  if (!row && step.unmatched == Unmatched::kDrop) return false;
  if (!row && step.unmatched == Unmatched::kError)
    throw DataError("no row has the key");
  const Element from = row ? *row : NoRow(step);
  for (const std::string& name : LookedUp(step)) {
    element.push_back({name, *Looked(from, name)});
    const bool nullable = Looked(from, "valid(" + name + ")") != nullptr;
    if (!nullable && step.unmatched != Unmatched::kNulls) continue;
    const bool valid = row.has_value() && IsThere(from, name);
    element.push_back(
        {"valid(" + name + ")", {DType::kBool, {}, {valid ? 1.L : 0.L}, {}}});
  }
  return true;
}

}  // namespace feedmill::reference
