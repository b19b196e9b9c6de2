#include "core/formats/tar_sparse.h"

#include <charconv>

#include "core/base/status.h"
#include "core/sources/framing.h"

namespace feedmill {
namespace {

constexpr size_t kTarBlock = 512;
constexpr size_t kRegionBytes = 24;

// Takes the text up to the separator, or all of it.
std::string_view TakeWord(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::optional<uint64_t> TarNumber(std::string_view field) {
  uint64_t value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (size_t k = 0; k < field.size(); ++k) {
      auto byte = static_cast<uint64_t>(static_cast<unsigned char>(field[k]));
      if (k == 0) byte &= 0x7f;
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    if (value >> 60 != 0) return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

std::optional<uint64_t> PaxNumber(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

void TarSparseMap::AddRegions(std::string_view entries) {
  for (; !entries.empty(); entries.remove_prefix(kRegionBytes)) {
    if (entries[0] == '\0') return;  // an unused entry
    const auto offset = TarNumber(entries.substr(0, 12));
    const auto size = TarNumber(entries.substr(12, 12));
    if (!offset || !size) {
      damaged_ = true;
      return;
    }
    regions_.push_back({*offset, *size});
  }
}

bool TarSparseMap::AddOldHeader(std::string_view header) {
  used_ = true;
  size_ = TarNumber(header.substr(483, 12));
  AddRegions(header.substr(386, 4 * kRegionBytes));
  return header[482] != '\0';
}

bool TarSparseMap::AddOldBlock(std::string_view block) {
  AddRegions(block.substr(0, 21 * kRegionBytes));
  return block[504] != '\0';
}

void TarSparseMap::AddPaxRecord(std::string_view key, std::string_view value) {
  constexpr std::string_view kPrefix = "GNU.sparse.";
  if (!key.starts_with(kPrefix)) return;
  used_ = true;
  key.remove_prefix(kPrefix.size());
  if (key == "major") {
    map_in_data_ = value == "1";
    damaged_ = damaged_ || (value != "0" && value != "1");
  } else if (key == "size" || key == "realsize") {
    size_ = PaxNumber(value);
  } else if (key == "offset") {
    pax_offset_ = PaxNumber(value);
    damaged_ = damaged_ || !pax_offset_;
  } else if (key == "numbytes") {
    const auto size = PaxNumber(value);
    damaged_ = damaged_ || !size || !pax_offset_;
    if (!damaged_) regions_.push_back({*pax_offset_, *size});
    pax_offset_.reset();
  } else if (key == "map") {
    while (!value.empty()) {
      const auto offset = PaxNumber(TakeWord(value, ','));
      const auto size = PaxNumber(TakeWord(value, ','));
      damaged_ = damaged_ || !offset || !size;
      if (damaged_) return;
      regions_.push_back({*offset, *size});
    }
  }
}

// Takes the map of pax 1.0: decimal numbers, one per line, padded to a whole
// block.
absl::StatusOr<std::vector<TarSparseMap::Region>> TarSparseMap::TakeMap(
    std::string_view& stored) {
  std::string_view rest = stored;
  const auto count = PaxNumber(TakeWord(rest, '\n'));
  // Each region takes at least four bytes.
  if (!count || *count > rest.size() / 4) {
    return DataLoss("its sparse map is damaged");
  }
  std::vector<Region> regions(*count);
  for (Region& region : regions) {
    const auto offset = PaxNumber(TakeWord(rest, '\n'));
    const auto size = PaxNumber(TakeWord(rest, '\n'));
    if (!offset || !size) return DataLoss("its sparse map is damaged");
    region = {*offset, *size};
  }
  const size_t used = stored.size() - rest.size();
  const size_t padded = (used + kTarBlock - 1) / kTarBlock * kTarBlock;
  if (padded > stored.size()) return DataLoss("its sparse map is cut short");
  stored.remove_prefix(padded);
  return regions;
}

absl::StatusOr<std::string> TarSparseMap::Expand(
    std::string_view stored) const {
  if (damaged_ || !size_) return DataLoss("its sparse map is damaged");
  if (*size_ > kRecordBytesMax) {
    return DataLoss("it is a sparse file of {} bytes; {} are the most", *size_,
                    kRecordBytesMax);
  }
  std::vector<Region> regions = regions_;
  if (map_in_data_) {
    FM_ASSIGN_OR_RETURN(regions, TakeMap(stored));
  }
  std::string out(*size_, '\0');
  for (const Region& region : regions) {
    if (region.offset > out.size() ||
        region.size > out.size() - region.offset) {
      return DataLoss("its sparse map has a region beyond its {} bytes",
                      out.size());
    }
    if (region.size > stored.size()) {
      return DataLoss("its sparse map has more bytes than are stored");
    }
    stored.copy(out.data() + region.offset, region.size);
    stored.remove_prefix(region.size);
  }
  if (!stored.empty()) {
    return DataLoss("its sparse map leaves out {} bytes that are stored",
                    stored.size());
  }
  return out;
}

}  // namespace feedmill
