#include "tests/reference/source_records.h"

#include <iterator>
#include <string>

#include "core/dataset/image_table_source.h"
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

// Returns the rows of the table, each after the file that its column names.
std::vector<Element> ImageRows(const ImageTableSource& source) {
  const Source& table = source.table.at(0).source;
  std::vector<std::vector<Element>> rows;
  std::vector<uint64_t> sizes;
  RecordsOf(table, false, rows, sizes);
  std::string folder = Expand(*SourceFiles(table)).at(0);
  folder.resize(folder.rfind('/') + 1);
  std::vector<Element> out;
  for (const auto& block : rows)
    for (Element row : block) {
      std::string path;
      for (const Component& c : Sound(row))
        if (c.name == source.column) path = c.value.strings.at(0);
      if (path[0] != '/') path = folder + path;
      row.insert(row.begin(),
                 {"image", {DType::kBytes, {}, {}, {ReadFile(path)}}});
      out.push_back(std::move(row));
    }
  return out;
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
  if (auto* table = source.As<ImageTableSource>()) {
    for (Element& e : ImageRows(*table)) records.push_back({std::move(e)});
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
