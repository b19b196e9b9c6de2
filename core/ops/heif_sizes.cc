#include "core/ops/heif_sizes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/ops/heif_coded_size.h"
#include "core/ops/image.h"

namespace feedmill {
namespace {

// Big-endian numbers. Bytes behind the end are 0.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  uint64_t Take(size_t count) {
    uint64_t value = 0;
    for (const char byte : TakeText(count)) {
      value = value << 8 | static_cast<uint8_t>(byte);
    }
    return value;
  }
  std::string_view TakeText(size_t count) {
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

struct Box {
  std::string_view type;
  std::string_view body;
};

// Takes the next box; none at the end. A box that is longer than the rest has
// all of it.
std::optional<Box> TakeBox(Bytes& from) {
  if (from.left().size() < 8) return std::nullopt;
  const uint64_t length = from.Take(4);
  Box box{from.TakeText(4), {}};
  uint64_t head = 8;
  uint64_t whole = length;
  if (length == 1) {
    whole = from.Take(8);
    head = 16;
  }
  if (length == 0) whole = UINT64_MAX;  // to the end
  if (whole < head) return std::nullopt;
  box.body = from.TakeText(std::min<uint64_t>(whole - head, SIZE_MAX));
  return box;
}

// The body of the box of a type; "" without one. DataLoss if there are two:
// each reader would choose its own.
absl::StatusOr<std::string_view> OnlyBox(std::string_view boxes,
                                         std::string_view type) {
  std::optional<std::string_view> found;
  Bytes left(boxes);
  while (const std::optional<Box> box = TakeBox(left)) {
    if (box->type != type) continue;
    if (found.has_value()) return DataLoss("HEIF: two boxes '{}'", type);
    found = box->body;
  }
  return found.value_or(std::string_view());
}

struct FullBox {
  explicit FullBox(std::string_view body)
      : bytes(body), version(bytes.Take(1)), flags(bytes.Take(3)) {}
  // An item's id, which newer versions write wider.
  uint64_t TakeId(uint64_t wide_from) {
    return bytes.Take(version >= wide_from ? 4 : 2);
  }
  Bytes bytes;
  uint64_t version;
  uint64_t flags;
};

enum class Visit { kNew, kBegun, kDone };

struct Item {
  std::string_view type;
  ImageSize declared{};
  std::vector<Box> configurations;       // av1C, hvcC
  std::vector<std::string_view> pieces;  // of its data
  std::vector<uint64_t> made_of;         // the images that it is derived from
  std::vector<uint64_t> aux;             // alpha and the like
  Visit visit = Visit::kNew;
  int64_t pixels = 0;  // of it and of all that it is made of
};

int64_t PixelsOf(ImageSize size) { return size.height * size.width; }

// The sides of a grid or of an overlay, which its data has.
ImageSize CanvasSize(std::string_view type, std::string_view data) {
  Bytes left(data);
  left.Take(1);
  const size_t width = (left.Take(1) & 1) != 0 ? 4 : 2;
  left.Take(type == "grid" ? 2 : 8);  // rows and columns, or a colour
  const auto across = static_cast<int64_t>(left.Take(width));
  return {static_cast<int64_t>(left.Take(width)), across};
}

ImageSize Av1Size(std::string_view configuration, const std::string& data) {
  constexpr size_t kHead = 4;
  return LargestAv1Size(
      std::string(configuration.substr(std::min(kHead, configuration.size()))) +
      data);
}

ImageSize HevcSize(std::string_view configuration, std::string_view data) {
  ImageSize largest = LargestHevcSize(data);
  Bytes sets(configuration);
  sets.TakeText(22);
  for (uint64_t arrays = sets.Take(1); arrays > 0; --arrays) {
    sets.Take(1);
    for (uint64_t k = sets.Take(2); k > 0 && !sets.left().empty(); --k) {
      largest = LargerOf(largest, HevcSetSize(sets.TakeText(sets.Take(2))));
    }
  }
  return largest;
}

// The sides that a decoder makes; none of an item that is not decoded.
ImageSize MadeSize(const Item& item, const std::string& data) {
  if (item.type == "grid" || item.type == "iovl") {
    return CanvasSize(item.type, data);
  }
  ImageSize largest{};
  for (const Box& box : item.configurations) {
    largest = LargerOf(largest, box.type == "av1C" ? Av1Size(box.body, data)
                                                   : HevcSize(box.body, data));
  }
  return largest;
}

class HeifFile {
 public:
  explicit HeifFile(std::string_view file)
      : file_(file), copied_max_(kTimesCopied * file.size()) {}

  absl::Status Check() {
    FM_ASSIGN_OR_RETURN(const std::string_view meta, OnlyBox(file_, "meta"));
    boxes_ = meta.substr(std::min<size_t>(4, meta.size()));
    FM_RETURN_IF_ERROR(ReadItems());
    FM_RETURN_IF_ERROR(ReadProperties());
    FM_RETURN_IF_ERROR(ReadReferences());
    FM_RETURN_IF_ERROR(ReadPlaces());
    FM_ASSIGN_OR_RETURN(const std::string_view primary,
                        OnlyBox(boxes_, "pitm"));
    FullBox box(primary);
    return CheckItem(box.TakeId(1), 0);
  }

 private:
  static constexpr size_t kTimesCopied = 16;  // images may share data

  absl::Status ReadItems() {
    FM_ASSIGN_OR_RETURN(const std::string_view infos, OnlyBox(boxes_, "iinf"));
    FullBox list(infos);
    list.TakeId(1);  // their number
    while (const std::optional<Box> box = TakeBox(list.bytes)) {
      FullBox info(box->body);
      const uint64_t id = info.TakeId(3);
      info.bytes.Take(2);
      items_[id].type = info.bytes.TakeText(4);
    }
    return absl::OkStatus();
  }

  absl::Status ReadProperties() {
    FM_ASSIGN_OR_RETURN(const std::string_view both, OnlyBox(boxes_, "iprp"));
    FM_ASSIGN_OR_RETURN(const std::string_view boxes, OnlyBox(both, "ipco"));
    std::vector<Box> properties;
    Bytes left(boxes);
    while (const std::optional<Box> box = TakeBox(left)) {
      properties.push_back(*box);
    }
    left = Bytes(both);
    while (const std::optional<Box> box = TakeBox(left)) {
      if (box->type == "ipma") Associate(FullBox(box->body), properties);
    }
    return absl::OkStatus();
  }

  void Associate(FullBox box, const std::vector<Box>& properties) {
    const bool wide = (box.flags & 1) != 0;
    for (uint64_t items = box.bytes.Take(4); items > 0; --items) {
      if (box.bytes.left().empty()) return;
      Item& item = items_[box.TakeId(1)];
      for (uint64_t count = box.bytes.Take(1); count > 0; --count) {
        const uint64_t index =
            box.bytes.Take(wide ? 2 : 1) & (wide ? 0x7fffU : 0x7fU);
        if (index == 0 || index > properties.size()) continue;
        AddProperty(properties[index - 1], item);
      }
    }
  }

  static void AddProperty(const Box& property, Item& item) {
    if (property.type == "av1C" || property.type == "hvcC") {
      item.configurations.push_back(property);
    }
    if (property.type != "ispe") return;
    FullBox box(property.body);
    const auto width = static_cast<int64_t>(box.bytes.Take(4));
    item.declared = {static_cast<int64_t>(box.bytes.Take(4)), width};
  }

  absl::Status ReadReferences() {
    FM_ASSIGN_OR_RETURN(const std::string_view body, OnlyBox(boxes_, "iref"));
    FullBox list(body);
    while (const std::optional<Box> box = TakeBox(list.bytes)) {
      Bytes ids(box->body);
      const size_t width = list.version == 0 ? 2 : 4;
      const uint64_t from = ids.Take(width);
      for (uint64_t k = ids.Take(2); k > 0 && !ids.left().empty(); --k) {
        const uint64_t to = ids.Take(width);
        if (box->type == "dimg") items_[from].made_of.push_back(to);
        if (box->type == "auxl") items_[to].aux.push_back(from);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadPlaces() {
    FM_ASSIGN_OR_RETURN(const std::string_view own, OnlyBox(boxes_, "idat"));
    FM_ASSIGN_OR_RETURN(const std::string_view body, OnlyBox(boxes_, "iloc"));
    FullBox box(body);
    const uint64_t widths = box.bytes.Take(2);
    const size_t offset = widths >> 12 & 15, length = widths >> 8 & 15;
    const size_t base = widths >> 4 & 15;
    const size_t index = box.version > 0 ? widths & 15 : 0;
    for (uint64_t items = box.TakeId(2); items > 0; --items) {
      if (box.bytes.left().empty()) break;
      Item& item = items_[box.TakeId(2)];
      const bool in_own = box.version > 0 && (box.bytes.Take(2) & 15) == 1;
      box.bytes.Take(2);
      const uint64_t begin = box.bytes.Take(base);
      for (uint64_t k = box.bytes.Take(2); k > 0 && !box.bytes.left().empty();
           --k) {
        box.bytes.Take(index);
        const uint64_t at = begin + box.bytes.Take(offset);
        const uint64_t size = box.bytes.Take(length);
        const std::string_view from = in_own ? own : file_;
        item.pieces.push_back(
            from.substr(std::min<uint64_t>(at, from.size()),
                        size == 0 ? std::string_view::npos : size));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckItem(uint64_t id, int depth) {
    constexpr int kDepthMax = 4;  // of images that are derived from others
    Item& item = items_[id];
    if (item.visit == Visit::kDone) return absl::OkStatus();
    if (item.visit == Visit::kBegun || depth > kDepthMax) {
      return DataLoss("HEIF: an image is made of itself");
    }
    item.visit = Visit::kBegun;
    FM_ASSIGN_OR_RETURN(const std::string data, DataOf(item));
    FM_RETURN_IF_ERROR(CheckSides(item.declared, MadeSize(item, data)));
    int64_t parts = 0;
    for (const std::vector<uint64_t>* ids : {&item.made_of, &item.aux}) {
      for (const uint64_t each : *ids) {
        FM_RETURN_IF_ERROR(CheckItem(each, depth + 1));
        parts += items_[each].pixels;
      }
    }
    constexpr int64_t kTimes = 4, kMore = int64_t{4} << 20;
    item.pixels = PixelsOf(item.declared);
    if (parts > kTimes * item.pixels + kMore) {
      return DataLoss("HEIF: an image of {} x {} is made of {} pixels",
                      item.declared.width, item.declared.height, parts);
    }
    item.pixels += parts;
    item.visit = Visit::kDone;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> DataOf(const Item& item) {
    std::string data;
    for (const std::string_view piece : item.pieces) {
      if (copied_max_ < piece.size()) {
        return DataLoss("HEIF: the images of the file share their data");
      }
      copied_max_ -= piece.size();
      data += piece;
    }
    return data;
  }

  // Blocks make an image larger, and so do layers of which a smaller is shown.
  static absl::Status CheckSides(ImageSize declared, ImageSize made) {
    constexpr int64_t kTimes = 2, kMore = 64;
    if (declared.width > kImageSideMax || declared.height > kImageSideMax ||
        PixelsOf(declared) > kImagePixelsMax) {
      return DataLoss("HEIF: an image of {} x {}; the limit is {} pixels",
                      declared.width, declared.height, kImagePixelsMax);
    }
    if (made.width > kTimes * declared.width + kMore ||
        made.height > kTimes * declared.height + kMore) {
      return DataLoss("HEIF: an image of {} x {} is coded as {} x {}",
                      declared.width, declared.height, made.width, made.height);
    }
    return absl::OkStatus();
  }

  const std::string_view file_;
  std::string_view boxes_;  // of the meta box
  std::map<uint64_t, Item> items_;
  size_t copied_max_;  // bytes that may still be copied
};

}  // namespace

absl::Status CheckHeifSizes(std::string_view file) {
  return HeifFile(file).Check();
}

}  // namespace feedmill
