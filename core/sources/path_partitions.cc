#include "core/sources/path_partitions.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/status.h"
#include "core/sources/record_decoder.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

constexpr std::string_view kNoValue = "__HIVE_DEFAULT_PARTITION__";

// Decodes %XX to bytes; other text is unchanged.
std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    unsigned byte = 0;
    const char* const end = text.data() + std::min(k + 3, text.size());
    if (text[k] == '%' && k + 2 < text.size() &&
        std::from_chars(text.data() + k + 1, end, byte, 16).ptr == end) {
      out += static_cast<char>(byte);
      k += 2;
    } else {
      out += text[k];
    }
  }
  return out;
}

}  // namespace

std::vector<PathPartition> PartitionsOf(std::string_view path) {
  std::vector<PathPartition> out;
  for (size_t at = 0, end = 0; (end = path.find('/', at)) != path.npos;
       at = end + 1) {
    const std::string_view folder = path.substr(at, end - at);
    const size_t equals = folder.find('=');
    if (equals == 0 || equals == folder.npos) continue;
    PathPartition partition{Unescaped(folder.substr(0, equals)), {}};
    const std::string_view value = folder.substr(equals + 1);
    if (value != kNoValue) partition.value = Unescaped(value);
    std::erase_if(out, [&](const PathPartition& other) {
      return other.key == partition.key;
    });
    out.push_back(std::move(partition));
  }
  return out;
}

SourceField FieldOf(const PathPartition& partition) {
  BufferBuilder unused;
  const bool integer =
      partition.value && AppendNumber(*partition.value, DType::kInt64, unused);
  SourceField field{partition.key, integer ? DType::kInt64 : DType::kBytes, {}};
  if (!integer) field.logical = LogicalType::kString;
  return field;
}

absl::StatusOr<DecodedColumn> ColumnOf(const PathPartition& partition,
                                       const SourceField& field, size_t rows) {
  const std::string text = partition.value.value_or("");
  OutputColumn out;
  out.Reset(field.dtype, field.shape);
  bool good = field.shape.empty();
  if (field.dtype == DType::kBytes) {
    out.offsets.Push(int64_t{0});
    for (size_t row = 0; row < rows; ++row) {
      out.values.Append(text.data(), text.size());
      out.offsets.Push(static_cast<int64_t>(out.values.size()));
    }
  } else {
    const bool time = field.logical != LogicalType::kNone;
    good = good && (!partition.value ? AppendMissing(field.dtype, out.values)
                    : time ? AppendTime(text, field.logical, out.values)
                           : AppendNumber(text, field.dtype, out.values));
    const size_t size = out.values.size();
    for (size_t row = 1; row < rows && good; ++row) {
      std::byte* const to = out.values.Extend(size);
      __builtin_memcpy(to, out.values.data(), size);
    }
    if (rows == 0) out.values.Truncate(0);
  }
  if (!good) {
    return DataLoss(
        "the folder {}={} of the file gives the column \"{}\" a value that is "
        "not {}{}; declare another type",
        Shown(partition.key),
        Shown(partition.value.value_or(std::string(kNoValue))),
        Shown(field.name), TypeName(field.dtype, field.logical),
        ShapeToString(field.shape));
  }
  return DecodedColumn{out.Take(), {}};
}

}  // namespace feedmill
