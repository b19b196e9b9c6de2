#include "core/formats/npy_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/formats/npy_header.h"
#include "core/io/byte_stream.h"

namespace feedmill {
namespace {

constexpr size_t kDirectoryBytesMax = size_t{16} << 20;
constexpr size_t kMembersMax = 1000;
constexpr size_t kPartBytes = size_t{1} << 20;
// Most bytes of an array that is read as a whole.
constexpr uint64_t kWholeBytesMax = uint64_t{4} << 30;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

template <class T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Reads `size` bytes at `offset`. Returns fewer at the end of the file, which
// has `file_size` bytes.
absl::StatusOr<std::string> ReadPart(const RandomAccessFile& file,
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

// Position of the bytes of a .npy in a file, where they are stored plain or
// deflated.
struct NpyPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::optional<DeflatedMember> deflated{};
};

// Returns the first bytes of a .npy: `most`, or all if there are fewer.
absl::StatusOr<std::string> ReadNpyBytes(const RandomAccessFile& file,
                                         const NpyPlace& place, uint64_t most) {
  const uint64_t size = std::min(place.size, most);
  if (!place.deflated) {
    return ReadPart(file, place.offset + place.size, place.offset, size);
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

// Returns the arrays of a .npy, one for each member of its dtype. `name`: that
// of the .npz member.
absl::StatusOr<std::vector<FileArray>> ArraysOf(const RandomAccessFile& file,
                                                const NpyPlace& place,
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
    array.unreadable = member.unreadable;
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

struct ZipMember {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t size = 0;    // uncompressed
  uint64_t packed = 0;  // bytes in the file
  uint64_t header = 0;

  std::string_view array_name() const {
    std::string_view array = name;
    if (array.ends_with(".npy")) array.remove_suffix(4);
    return array;
  }
};

// Reads the 64-bit values of a directory entry whose 32-bit values are -1.
void ReadZip64(std::string_view extra, uint64_t& size, uint64_t& packed,
               uint64_t& header) {
  while (extra.size() >= 4) {
    const auto id = Load<uint16_t>(extra, 0);
    const size_t length = Load<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return;
    std::string_view values = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (uint64_t* value : {&size, &packed, &header}) {
      if (*value != 0xffffffff || values.size() < 8) continue;
      *value = Load<uint64_t>(values, 0);
      values.remove_prefix(8);
    }
  }
}

absl::StatusOr<std::vector<ZipMember>> ParseDirectory(std::string_view bytes) {
  constexpr size_t kEntryBytes = 46;
  std::vector<ZipMember> members;
  while (bytes.size() >= kEntryBytes && bytes.starts_with("PK\x01\x02")) {
    const size_t name_size = Load<uint16_t>(bytes, 28);
    const size_t extra_size = Load<uint16_t>(bytes, 30);
    const size_t comment_size = Load<uint16_t>(bytes, 32);
    const size_t all = kEntryBytes + name_size + extra_size + comment_size;
    if (all > bytes.size() || members.size() == kMembersMax) {
      return DataLoss("its directory of members is damaged");
    }
    ZipMember& member = members.emplace_back();
    member.name = bytes.substr(kEntryBytes, name_size);
    member.method = Load<uint16_t>(bytes, 10);
    member.crc = Load<uint32_t>(bytes, 16);
    member.packed = Load<uint32_t>(bytes, 20);
    member.size = Load<uint32_t>(bytes, 24);
    member.header = Load<uint32_t>(bytes, 42);
    ReadZip64(bytes.substr(kEntryBytes + name_size, extra_size), member.size,
              member.packed, member.header);
    bytes.remove_prefix(all);
  }
  if (members.empty()) return DataLoss("it has no members");
  return members;
}

absl::StatusOr<std::vector<ZipMember>> ReadDirectory(
    const RandomAccessFile& file, uint64_t size) {
  constexpr size_t kEndBytes = 22;
  constexpr size_t kLocatorBytes = 20;
  const uint64_t tail_size = std::min<uint64_t>(size, kNpyHeaderBytesMax + 64);
  FM_ASSIGN_OR_RETURN(const std::string tail,
                      ReadPart(file, size, size - tail_size, tail_size));
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == std::string::npos || tail.size() - end < kEndBytes) {
    return DataLoss("its directory of members is missing (cut short?)");
  }
  uint64_t length = Load<uint32_t>(tail, end + 12);
  uint64_t offset = Load<uint32_t>(tail, end + 16);
  const std::string_view locator =
      end < kLocatorBytes
          ? std::string_view()
          : std::string_view(tail).substr(end - kLocatorBytes, kLocatorBytes);
  if (locator.starts_with("PK\x06\x07")) {
    const uint64_t at = Load<uint64_t>(locator, 8);
    std::array<char, 56> bytes{};
    size_t got = 0;
    if (at < size) {
      FM_ASSIGN_OR_RETURN(
          got, file.Read(at, std::as_writable_bytes(std::span(bytes))));
    }
    const std::string_view end64(bytes.data(), got);
    if (got < bytes.size() || !end64.starts_with("PK\x06\x06")) {
      return DataLoss("its directory of members is damaged");
    }
    length = Load<uint64_t>(end64, 40);
    offset = Load<uint64_t>(end64, 48);
  }
  if (length > kDirectoryBytesMax || offset > size) {
    return DataLoss("its directory of members is damaged");
  }
  FM_ASSIGN_OR_RETURN(const std::string directory,
                      ReadPart(file, size, offset, length));
  return ParseDirectory(directory);
}

absl::StatusOr<std::vector<FileArray>> ReadNpzMember(
    const RandomAccessFile& file, uint64_t file_size, const ZipMember& member) {
  constexpr size_t kLocalBytes = 30;
  if (member.method != kStored && member.method != kDeflated) {
    return DataLoss(
        "it is compressed by the method {} of zip, which cannot be read; write "
        "it with numpy.savez_compressed",
        member.method);
  }
  FM_ASSIGN_OR_RETURN(const std::string local,
                      ReadPart(file, file_size, member.header, kLocalBytes));
  if (local.size() < kLocalBytes || !local.starts_with("PK\x03\x04")) {
    return DataLoss("its header is damaged");
  }
  const uint64_t begin = member.header + kLocalBytes +
                         Load<uint16_t>(local, 26) + Load<uint16_t>(local, 28);
  const bool deflated = member.method == kDeflated;
  const uint64_t stored = deflated ? member.packed : member.size;
  // The directory follows the members.
  if (begin >= file_size || stored >= file_size - begin) {
    return DataLoss("it is cut short");
  }
  NpyPlace place{begin, member.size};
  if (deflated)
    place.deflated = {begin, begin + stored, member.size, member.crc};
  return ArraysOf(file, place, member.array_name());
}

// True if the field is the array itself, or a member of its structured dtype.
bool IsPartOf(std::string_view field, std::string_view array) {
  return field.starts_with(array) &&
         (field.size() == array.size() || field[array.size()] == '.');
}

bool HasField(const std::vector<SourceField>& fields, std::string_view name) {
  return std::any_of(
      fields.begin(), fields.end(),
      [&](const SourceField& field) { return IsPartOf(field.name, name); });
}

absl::Status CheckMember(const std::vector<ZipMember>& members,
                         std::string_view name) {
  constexpr size_t kNamesMax = 20;
  std::string names;
  for (const ZipMember& member : members) {
    if (IsPartOf(name, member.array_name())) return absl::OkStatus();
    const size_t shown = static_cast<size_t>(&member - members.data());
    if (shown > kNamesMax) continue;
    names += fmt::format("{}\"{}\"", shown == 0 ? "" : ", ",
                         shown == kNamesMax ? "…" : member.array_name());
  }
  return DataLoss("there is no array \"{}\" in it; it has {}", name, names);
}

// Returns the arrays of a .npz (see ReadArrayFile).
absl::StatusOr<std::vector<FileArray>> ReadNpz(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  FM_ASSIGN_OR_RETURN(const auto members, ReadDirectory(file, size));
  std::vector<FileArray> arrays;
  for (const ZipMember& member : members) {
    if (wanted != nullptr && !HasField(*wanted, member.array_name())) continue;
    auto read = ReadNpzMember(file, size, member);
    if (!read.ok()) {
      const bool others = wanted == nullptr && members.size() > 1;
      return absl::Status(
          read.status().code(),
          fmt::format(
              "{}: {}{}", member.name, ErrorText(read.status()),
              others ? " (`fields` that do not name it do without it)" : ""));
    }
    std::move(read->begin(), read->end(), std::back_inserter(arrays));
  }
  if (wanted == nullptr) return arrays;
  for (const SourceField& field : *wanted) {
    FM_RETURN_IF_ERROR(CheckMember(members, field.name));
  }
  return arrays;
}

}  // namespace

absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  const std::string& path = file.name();
  const ByteRange head{0, std::min<uint64_t>(size, kNpyHeaderBytesMax)};
  if (file.ahead_bytes() > 0) file.Prefetch({&head, 1});
  FM_ASSIGN_OR_RETURN(const std::string magic, ReadPart(file, size, 0, 4));
  if (!magic.starts_with("PK")) {
    auto arrays = ArraysOf(file, NpyPlace{0, size}, "");
    if (!arrays.ok()) return Annotate(arrays.status(), path);
    return arrays;
  }
  auto members = ReadNpz(file, size, wanted);
  if (!members.ok()) return Annotate(members.status(), path);
  return members;
}

}  // namespace feedmill
