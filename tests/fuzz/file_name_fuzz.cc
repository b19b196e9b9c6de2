// File names of any bytes: ranges of numbers, literal patterns, and partitions
// of Hive.

#include <string>

#include "core/base/check.h"
#include "core/base/glob_pattern.h"
#include "core/sources/path_partitions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedmill::DType;
  constexpr size_t kMost = 1000;
  const std::string name(reinterpret_cast<const char*>(data), size);
  const auto names = feedmill::ExpandNumbersInName(name, kMost);
  if (names) {
    FM_CHECK(!names->empty() && names->size() <= kMost);
    for (const std::string& one : *names) {
      FM_CHECK(one.size() <= name.size());
    }
  }
  const auto range = feedmill::FindNumbersInName(name);
  FM_CHECK(!range || (name[range->begin] == '{' && range->end <= name.size() &&
                      name[range->end - 1] == '}'));
  // Escaped names are literal.
  const std::string escaped = feedmill::EscapedPattern(name);
  FM_CHECK(!feedmill::FindNumbersInName(escaped));
  FM_CHECK(feedmill::LiteralPattern(escaped) == name);
  for (const feedmill::PathPartition& one : feedmill::PartitionsOf(name)) {
    const feedmill::SourceField own = feedmill::FieldOf(one);
    for (const DType dtype : {own.dtype, DType::kFloat64, DType::kBool}) {
      const auto column = feedmill::ColumnOf(one, {own.name, dtype, {}}, 3);
      FM_CHECK(column.ok() || absl::IsDataLoss(column.status()));
      FM_CHECK(column.ok() || dtype != own.dtype);
    }
  }
  return 0;
}
