#include "tools/command/batch_sample.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/base/utf8.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/combining_sources.h"
#include "core/dataset/source_types.h"
#include "core/io/key_glob.h"

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kItemsShown = 8;
constexpr int64_t kValuesShown = 8;  // of each item
constexpr size_t kTextShown = 400;   // bytes
constexpr size_t kRecordsShown = 64;
constexpr int64_t kPictureSide = 96;  // at most
constexpr int64_t kSideLeast = 4;     // smaller ones are numbers
constexpr int64_t kChannelsMost = 3;

std::string TypeText(const Column& column) {
  std::vector<std::string> dims;
  for (const int64_t dim : column.RowDims(0))
    dims.push_back(std::to_string(dim));
  if (dims.empty()) return std::string(DTypeName(column.dtype));
  return fmt::format("{}[{}]", DTypeName(column.dtype), fmt::join(dims, ", "));
}

// Places of the pixels of pictures in a component.
struct PictureLayout {
  int64_t count = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  bool planar = false;  // [channels, height, width]
};

bool AreChannels(int64_t dim) { return dim == 1 || dim == kChannelsMost; }

std::optional<PictureLayout> PicturesOf(const Column& column) {
  if (column.dtype != DType::kUInt8 && column.dtype != DType::kFloat32) {
    return std::nullopt;
  }
  const std::span<const int64_t> dims = column.RowDims(0);
  if (dims.size() != 3 && dims.size() != 4) return std::nullopt;
  PictureLayout layout;
  if (dims.size() == 4) layout.count = dims[0];
  const std::span<const int64_t> last = dims.last(3);
  layout.planar = !AreChannels(last[2]) && AreChannels(last[0]);
  if (!layout.planar && !AreChannels(last[2])) return std::nullopt;
  layout.channels = layout.planar ? last[0] : last[2];
  layout.height = layout.planar ? last[1] : last[0];
  layout.width = layout.planar ? last[2] : last[1];
  if (layout.height < kSideLeast || layout.width < kSideLeast) {
    return std::nullopt;
  }
  return layout;
}

// Reads a picture's values, and maps floats from their own range to 0 to
// 255.
class PictureReader {
 public:
  PictureReader(const Column& column, const PictureLayout& layout,
                int64_t picture)
      : column_(column), layout_(layout) {
    items_ = layout.height * layout.width * layout.channels;
    first_ = column.RowStart(0) + picture * items_;
    if (column.dtype != DType::kFloat32) return;
    const auto values = column.values.As<float>().subspan(
        static_cast<size_t>(first_), static_cast<size_t>(items_));
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      low_ = any_ ? std::min(low_, value) : value;
      high_ = any_ ? std::max(high_, value) : value;
      any_ = true;
    }
  }

  uint8_t At(int64_t y, int64_t x, int64_t channel) const {
    const int64_t c = std::min(channel, layout_.channels - 1);
    const int64_t item = layout_.planar
                             ? (c * layout_.height + y) * layout_.width + x
                             : (y * layout_.width + x) * layout_.channels + c;
    const auto at = static_cast<size_t>(first_ + item);
    if (column_.dtype == DType::kUInt8) return column_.values.As<uint8_t>()[at];
    const float value = column_.values.As<float>()[at];
    if (!std::isfinite(value) || high_ <= low_) return 0;
    return static_cast<uint8_t>(255 * (value - low_) / (high_ - low_));
  }

 private:
  const Column& column_;
  const PictureLayout layout_;
  int64_t items_ = 0;
  int64_t first_ = 0;
  bool any_ = false;
  float low_ = 0;
  float high_ = 0;
};

// Picks pixels at equal distances: cheap, and enough to see what it is.
Json PictureJson(const Column& column, const PictureLayout& layout,
                 int64_t picture) {
  const PictureReader pixels(column, layout, picture);
  const int64_t longest = std::max(layout.height, layout.width);
  const int64_t side = std::min(longest, kPictureSide);
  const int64_t height = std::max<int64_t>(1, layout.height * side / longest);
  const int64_t width = std::max<int64_t>(1, layout.width * side / longest);
  std::string rgb;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t channel = 0; channel < kChannelsMost; ++channel) {
        rgb += static_cast<char>(pixels.At(y * layout.height / height,
                                           x * layout.width / width, channel));
      }
    }
  }
  return {
      {"width", width}, {"height", height}, {"rgb", absl::Base64Escape(rgb)}};
}

// A text that JSON can hold, cut at the beginning of a character.
std::string ShownText(std::string_view bytes) {
  size_t end = std::min(bytes.size(), kTextShown);
  while (end < bytes.size() && end > 0 &&
         (static_cast<uint8_t>(bytes[end]) & 0xc0) == 0x80) {
    --end;
  }
  const std::string_view shown = bytes.substr(0, end);
  if (!IsUtf8(shown)) return fmt::format("{} bytes", bytes.size());
  return std::string(shown) + (end < bytes.size() ? "…" : "");
}

Json TextsJson(const Column& column) {
  Json texts = Json::array();
  const int64_t first = column.RowStart(0);
  const int64_t shown = std::min(column.RowItems(0), kItemsShown);
  for (int64_t k = 0; k < shown; ++k) {
    texts.push_back(ShownText(column.BytesAt(first + k)));
  }
  return texts;
}

// Items [first, first + count) as `feedmill read` prints them.
std::string ValuesText(const Column& column, int64_t first, int64_t count) {
  const size_t size = ItemSize(column.dtype);
  Chunk chunk;
  chunk.spec =
      std::make_shared<ElementSpec>(ElementSpec{{{"", column.dtype, {count}}}});
  chunk.rows = 1;
  chunk.columns = {{column.dtype,
                    {count},
                    Buffer::CopyOf(column.values.span().subspan(
                        static_cast<size_t>(first) * size,
                        static_cast<size_t>(count) * size)),
                    {},
                    {},
                    {}}};
  std::string text;
  AppendJson(chunk, 0, text);
  return text;
}

// The first values of each item along the first axis.
Json ValuesJson(const Column& column) {
  const std::span<const int64_t> dims = column.RowDims(0);
  const int64_t items = dims.empty() ? 1 : dims[0];
  const int64_t each = items == 0 ? 0 : column.RowItems(0) / items;
  Json values = Json::array();
  for (int64_t k = 0; k < std::min(items, kItemsShown); ++k) {
    const int64_t shown = std::min(each, kValuesShown);
    std::string text = ValuesText(column, column.RowStart(0) + k * each, shown);
    if (each == 1) text = text.substr(1, text.size() - 2);
    if (shown < each) text.insert(text.size() - 1, ", …");
    values.push_back(std::move(text));
  }
  return values;
}

Json ComponentJson(const ComponentSpec& spec, const Column& column) {
  Json json{{"name", spec.name}, {"type", TypeText(column)}};
  if (const auto layout = PicturesOf(column)) {
    Json pictures = Json::array();
    for (int64_t k = 0; k < std::min(layout->count, kItemsShown); ++k) {
      pictures.push_back(PictureJson(column, *layout, k));
    }
    json["pictures"] = std::move(pictures);
  } else if (column.dtype == DType::kBytes) {
    json["texts"] = TextsJson(column);
  } else {
    json["values"] = ValuesJson(column);
  }
  return json;
}

// True if the pipeline reads that file.
bool ReadsFile(const Graph& graph, const std::string& file) {
  if (const auto* inputs = SourceInputs(graph.source)) {
    return std::any_of(inputs->begin(), inputs->end(), [&](const Graph& input) {
      return ReadsFile(input, file);
    });
  }
  const std::vector<std::string>* patterns = SourceFiles(graph.source);
  return patterns != nullptr &&
         std::any_of(patterns->begin(), patterns->end(),
                     [&](const std::string& pattern) {
                       return pattern == file || StandsForFile(pattern, file);
                     });
}

Json InputsJson(const Graph& graph, const std::vector<RecordOrigin>& records) {
  Json list = Json::array();
  const std::vector<Graph>* inputs = SourceInputs(graph.source);
  if (inputs == nullptr || records.empty()) return list;
  std::vector<uint64_t> counts(inputs->size());
  for (const RecordOrigin& record : records) {
    for (size_t k = 0; k < inputs->size(); ++k) {
      if (!ReadsFile((*inputs)[k], record.file)) continue;
      ++counts[k];
      break;
    }
  }
  const auto* mixture = graph.source.As<MixtureSource>();
  double weights = 0;
  for (size_t k = 0; mixture != nullptr && k < mixture->weights.size(); ++k) {
    weights += mixture->weights[k];
  }
  const auto tenths = [](double percent) {
    return std::round(percent * 10) / 10;
  };
  for (size_t k = 0; k < inputs->size(); ++k) {
    const Graph& input = (*inputs)[k];
    const std::vector<std::string>* files = SourceFiles(input.source);
    Json entry{{"name", fmt::format("inputs[{}] {}{}", k, input.source.name(),
                                    files == nullptr || files->empty()
                                        ? ""
                                        : " " + ShownName(files->front()))},
               {"records", counts[k]},
               {"percent", tenths(100 * static_cast<double>(counts[k]) /
                                  static_cast<double>(records.size()))}};
    if (mixture != nullptr) {
      entry["weight_percent"] =
          weights > 0 ? tenths(100 * mixture->weights[k] / weights)
                      : tenths(100.0 / static_cast<double>(inputs->size()));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string BatchSampleJson(const ShownBatch& batch, const Graph& graph) {
  const Chunk& element = batch.traced.element;
  Json components = Json::array();
  for (size_t k = 0; k < element.columns.size(); ++k) {
    components.push_back(
        ComponentJson(element.spec->components[k], element.columns[k]));
  }
  const std::vector<RecordOrigin>& all = batch.traced.records;
  Json records = Json::array();
  for (size_t k = 0; k < std::min(all.size(), kRecordsShown); ++k) {
    records.push_back({{"file", ShownName(all[k].file)},
                       {"record", all[k].record},
                       {"epoch", all[k].epoch}});
  }
  const Json sample{{"batch", batch.number},
                    {"epoch", batch.iteration},
                    {"seed", batch.seed},
                    {"components", std::move(components)},
                    {"records", std::move(records)},
                    {"record_count", all.size()},
                    {"inputs", InputsJson(graph, all)}};
  return sample.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace feedmill
