#include "core/formats/npy_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/formats/npy_header.h"
#include "core/io/byte_stream.h"
#include "core/io/file_errors.h"

namespace feedmill {

absl::StatusOr<std::string> ReadBytesAt(const RandomAccessFile& file,
                                        uint64_t file_size, uint64_t offset,
                                        uint64_t size) {
  offset = std::min(offset, file_size);
  std::string bytes(std::min(size, file_size - offset), '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file.Read(offset, std::as_writable_bytes(std::span(bytes))));
  bytes.resize(got);
  return bytes;
}

namespace {

constexpr size_t kPartBytes = size_t{1} << 20;
// Most bytes of an array that is read as a whole.
constexpr uint64_t kWholeBytesMax = uint64_t{4} << 30;

// Returns the first bytes of a .npy: `most`, or all if there are fewer.
absl::StatusOr<std::string> ReadNpyBytes(const RandomAccessFile& file,
                                         const NpyPlace& place, uint64_t most) {
  const uint64_t size = std::min(place.size, most);
  if (!place.deflated) {
    return ReadBytesAt(file, place.offset + place.size, place.offset, size);
  }
  const ReadFileAt read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_ASSIGN_OR_RETURN(const size_t got, file.Read(offset, out));
    if (got == out.size()) return absl::OkStatus();
    return DataLoss("it is cut short");
  };
  const auto stream = MakeInflateStream(read, *place.deflated);
  std::string bytes;
  while (bytes.size() < size) {
    const size_t before = bytes.size();
    bytes.resize(before + std::min<uint64_t>(size - before, kPartBytes));
    FM_ASSIGN_OR_RETURN(
        const size_t got,
        stream->Read(
            std::as_writable_bytes(std::span<char>(bytes)).subspan(before)));
    bytes.resize(before + got);
    if (got == 0) break;
  }
  if (size < place.size) return bytes;
  // The stream reports a wrong checksum only after the last byte.
  std::byte one;
  FM_RETURN_IF_ERROR(stream->Read({&one, 1}).status());
  return bytes;
}

// Converts the items of an array from Fortran order to C order.
std::string InRows(const NpyHeader& header, std::string_view items) {
  const size_t bytes = header.item_bytes;
  const auto rows = static_cast<size_t>(header.shape[0]);
  const size_t row_items =
      rows == 0 || bytes == 0 ? 0 : items.size() / bytes / rows;
  // Index in Fortran order, by index in C order.
  std::vector<size_t> place(row_items);
  Shape at(header.shape.size(), 0);
  for (size_t k = 0; k < row_items; ++k) {
    size_t from = 0;
    for (size_t d = header.shape.size(); d-- > 1;) {
      from = from * static_cast<size_t>(header.shape[d]) +
             static_cast<size_t>(at[d]);
    }
    place[k] = from * rows;
    for (size_t d = header.shape.size(); d-- > 1;) {
      if (++at[d] < header.shape[d]) break;
      at[d] = 0;
    }
  }
  constexpr size_t kRowsTogether = 64;
  std::string out(items.size(), '\0');
  for (size_t first = 0; first < rows; first += kRowsTogether) {
    const size_t end = std::min(rows, first + kRowsTogether);
    for (size_t k = 0; k < row_items; ++k) {
      for (size_t row = first; row < end; ++row) {
        std::memcpy(out.data() + (row * row_items + k) * bytes,
                    items.data() + (place[k] + row) * bytes, bytes);
      }
    }
  }
  return out;
}

// Returns the rows of an array that is read as a whole.
absl::StatusOr<std::string> ReadRows(const RandomAccessFile& file,
                                     const NpyPlace& place,
                                     const NpyHeader& header) {
  FM_ASSIGN_OR_RETURN(std::string bytes, ReadNpyBytes(file, place, place.size));
  uint64_t all = header.item_bytes;
  for (const int64_t dim : header.shape) all *= static_cast<uint64_t>(dim);
  if (bytes.size() < header.data_offset ||
      bytes.size() - header.data_offset < all) {
    return DataLoss("it is cut short");
  }
  const std::string_view items =
      std::string_view(bytes).substr(header.data_offset, all);
  if (header.fortran) return InRows(header, items);
  bytes.erase(0, header.data_offset);
  bytes.resize(all);
  return bytes;
}

absl::Status CheckWhole(const NpyHeader& header, const NpyPlace& place,
                        uint64_t bytes) {
  if (header.data_offset > place.size ||
      bytes > place.size - header.data_offset) {
    return DataLoss("it is cut short: {} rows of {} bytes do not fit",
                    header.shape[0],
                    bytes / static_cast<uint64_t>(header.shape[0]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<FileArray>> ReadNpyArrays(
    const RandomAccessFile& file, const NpyPlace& place,
    std::string_view name) {
  FM_ASSIGN_OR_RETURN(const std::string head,
                      ReadNpyBytes(file, place, kNpyHeaderBytesMax));
  FM_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(head));
  const bool fortran = header.fortran && header.shape.size() > 1;
  uint64_t row_bytes = header.item_bytes;
  for (size_t d = 1; d < header.shape.size(); ++d) {
    row_bytes *= static_cast<uint64_t>(header.shape[d]);
  }
  const uint64_t bytes = row_bytes * static_cast<uint64_t>(header.shape[0]);
  if (bytes > 0) FM_RETURN_IF_ERROR(CheckWhole(header, place, bytes));
  const bool whole = fortran || place.deflated.has_value();
  if (whole && bytes > kWholeBytesMax) {
    return DataLoss(
        "it is {} and has more than 4 GiB, which are read as a whole; write "
        "{}",
        place.deflated ? "compressed" : "in Fortran order",
        place.deflated ? "it with numpy.savez"
                       : "numpy.ascontiguousarray of it");
  }
  if (header.members.size() > 1 && header.shape.size() > 1) {
    return DataLoss(
        "it has {} dimensions of a structured dtype, which must have one",
        header.shape.size());
  }
  std::vector<FileArray> arrays;
  for (const NpyMember& member : header.members) {
    FileArray& array = arrays.emplace_back();
    array.name = name;
    if (!member.name.empty()) {
      array.name += (name.empty() ? "" : ".") + member.name;
    }
    array.dtype = member.dtype;
    array.stored = member.stored;
    array.item_bytes = member.item_bytes;
    array.unit = member.unit;
    if (!member.unreadable.empty()) {
      array.unreadable = fmt::format(
          "the dtype {} of \"{}\" cannot be read: bool, integers, floats of at "
          "most 64 bits, datetime64, timedelta64 and texts can",
          member.unreadable, array.name);
    }
    array.shape.assign(header.shape.begin() + 1, header.shape.end());
    array.shape.insert(array.shape.end(), member.shape.begin(),
                       member.shape.end());
    array.rows = static_cast<uint64_t>(header.shape[0]);
    array.row_bytes = row_bytes;
    array.within = member.within;
    array.offset = whole ? 0 : place.offset + header.data_offset;
    if (!whole) continue;
    const NpyHeader own = [&] {
      NpyHeader copy = header;
      copy.fortran = fortran;
      return copy;
    }();
    array.whole = [place, own](const RandomAccessFile& opened) {
      return ReadRows(opened, place, own);
    };
    array.whole_name = name;
  }
  return arrays;
}

absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  const std::string& path = file.name();
  const ByteRange head{0, std::min<uint64_t>(size, kNpyHeaderBytesMax)};
  if (file.ahead_bytes() > 0) file.Prefetch({&head, 1});
  FM_ASSIGN_OR_RETURN(const std::string magic, ReadBytesAt(file, size, 0, 4));
  if (!magic.starts_with("PK")) {
    auto arrays = ReadNpyArrays(file, NpyPlace{0, size}, "");
    if (!arrays.ok()) return NameFile(arrays.status(), path);
    return arrays;
  }
  auto members = ReadNpzArrays(file, size, wanted);
  if (!members.ok()) return NameFile(members.status(), path);
  return members;
}

}  // namespace feedmill
