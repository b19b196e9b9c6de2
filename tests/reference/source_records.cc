#include "tests/reference/source_records.h"

#include <iterator>
#include <string>

#include "core/dataset/source_types.h"
#include "tests/reference/expression.h"
#include "tests/reference/formats.h"
#include "tests/reference/records.h"

namespace feedmill::reference {
namespace {

Element Number(int64_t v) {
  return {{"", {DType::kInt64, {}, {static_cast<long double>(v)}, {}}}};
}

Element BytesElement(const std::string& v) {
  return {{"", {DType::kBytes, {}, {}, {v}}}};
}

}  // namespace

void RecordsOf(const Source& source, bool counted,
               std::vector<std::vector<Element>>& records,
               std::vector<uint64_t>& file_sizes) {
  if (auto* range = source.As<RangeSource>()) {
    for (int64_t v = range->start;
         range->step > 0 ? v < range->stop : v > range->stop; v += range->step)
      records.push_back({Number(v)});
    return;
  }
  if (auto* images = source.As<ImagesSource>()) {
    for (Element& e : ImageRecords(*images)) records.push_back({std::move(e)});
    file_sizes.assign(records.size(), 1);
    return;
  }
  for (const std::string& path : Expand(*SourceFiles(source))) {
    const size_t before = records.size();
    if (source.Is<TfRecordSource>()) {
      for (const auto& record : TfRecords(path))
        records.push_back({record ? BytesElement(*record) : Element()});
    } else {
      Source one = source;
      *MutableSourceFiles(one) = {path};
      auto positions = FormatRecords(one, counted);
      std::move(positions.begin(), positions.end(),
                std::back_inserter(records));
    }
    file_sizes.push_back(records.size() - before);
  }
}

Element Sound(Element element) {
  if (element.empty()) throw DataError("corrupt record");
  for (const Component& c : element)
    if (c.value.bad) throw DataError("bad value of " + c.name);
  return element;
}

}  // namespace feedmill::reference
