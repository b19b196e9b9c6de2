#include "core/definition/number_file.h"

#include <cstring>
#include <memory>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/definition/source_by_name.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/table_reader.h"

namespace feedmill {
namespace {

constexpr size_t kNumbersBytesMax = size_t{32} << 20;

// Returns the only column of a file, with one number a row.
absl::StatusOr<Chunk> ReadColumn(const std::string& file) {
  Graph graph;
  FM_ASSIGN_OR_RETURN(graph.source, SourceByName(file));
  FM_RETURN_IF_ERROR(InferFields(graph));
  FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(graph, FunctionRegistry()));
  const ElementSpec& spec = analyzed->source.spec;
  const ComponentSpec& only = spec.components[0];
  if (spec.components.size() != 1 || only.dtype == DType::kBytes ||
      !only.shape.empty()) {
    return InvalidArgument("{}: it has {}, not one number in each row", file,
                           spec.ToString());
  }
  FM_ASSIGN_OR_RETURN(Manifest manifest, ResolveManifest(*analyzed));
  return TableReader(graph.source, spec)
      .Read(std::make_shared<const Manifest>(std::move(manifest)), {},
            kNumbersBytesMax);
}

template <class T>
absl::StatusOr<std::vector<T>> ReadAs(const std::string& file) {
  FM_ASSIGN_OR_RETURN(const Chunk rows, ReadColumn(file));
  const Column& column = rows.columns[0];
  if (std::is_integral_v<T> && !IsInteger(column.dtype)) {
    return InvalidArgument("{}: its values are {}, not integers", file,
                           DTypeName(column.dtype));
  }
  std::vector<T> out(rows.rows);
  bool fits = true;
  VisitNumeric(column.dtype, [&](auto item) {
    for (size_t row = 0; row < rows.rows; ++row) {
      std::memcpy(&item, column.values.data() + row * sizeof item, sizeof item);
      out[row] = static_cast<T>(item);
      // Also for a uint64 above 2^63.
      fits = fits && (!std::is_integral_v<T> || (item < 0) == (out[row] < 0));
    }
  });
  if (fits) return out;
  return InvalidArgument("{}: it has a number above 2^63", file);
}

}  // namespace

absl::StatusOr<std::vector<double>> ReadNumbers(const std::string& file) {
  return ReadAs<double>(file);
}

absl::StatusOr<std::vector<int64_t>> ReadIntegers(const std::string& file) {
  return ReadAs<int64_t>(file);
}

}  // namespace feedmill
