#include "core/formats/npy_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kHeaderBytesMax = size_t{64} << 10;
constexpr size_t kDirectoryBytesMax = size_t{16} << 20;
constexpr size_t kMembersMax = 1000;
constexpr size_t kRankMax = 32;

template <class T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// As much of it as the file of `file_size` bytes has.
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

// The value of a key in NumPy's header, a literal of a Python dict.
std::string_view DictValue(std::string_view dict, std::string_view key) {
  const size_t at = dict.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view value = dict.substr(at + key.size() + 3);
  while (value.starts_with(' ')) value.remove_prefix(1);
  if (value.starts_with('(')) return value.substr(0, value.find(')') + 1);
  if (value.starts_with('\'')) {
    const size_t end = value.find('\'', 1);
    return end == std::string_view::npos ? value : value.substr(0, end + 1);
  }
  return value.substr(0, value.find_first_of(",}"));
}

absl::StatusOr<DType> NpyDType(std::string_view descr) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"b1", DType::kBool},    {"i1", DType::kInt8},    {"i2", DType::kInt16},
      {"i4", DType::kInt32},   {"i8", DType::kInt64},   {"u1", DType::kUInt8},
      {"u2", DType::kUInt16},  {"u4", DType::kUInt32},  {"u8", DType::kUInt64},
      {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
  };
  std::string_view text = descr;
  if (text.size() > 2 && text.front() == '\'' && text.back() == '\'') {
    text = text.substr(1, text.size() - 2);
  }
  const bool swapped = text.starts_with('>') && !text.ends_with('1');
  if (!text.empty() && !swapped &&
      std::string_view("<|=>").find(text[0]) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  for (const auto& [name, dtype] : kTypes) {
    if (text == name) return dtype;
  }
  return DataLoss(
      "its dtype {} cannot be read: bool, int8 to int64, uint8 to uint64, "
      "float32 and float64 in little-endian can",
      descr.substr(0, 40));
}

absl::Status ParseNpyShape(std::string_view text, FileArray& array) {
  Shape dims;
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    return DataLoss("its header has no shape");
  }
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t skip = text.find_first_not_of(" ,");
    if (skip == std::string_view::npos) break;
    text.remove_prefix(skip);
    int64_t dim = 0;
    const auto [stop, error] =
        std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0 || dims.size() == kRankMax) {
      return DataLoss("its header has no shape");
    }
    dims.push_back(dim);
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    if (text.starts_with('L')) text.remove_prefix(1);  // as Python 2 writes it
  }
  if (dims.empty()) return DataLoss("it is a single value without rows");
  array.rows = static_cast<uint64_t>(dims[0]);
  array.shape.assign(dims.begin() + 1, dims.end());
  array.row_bytes = ItemSize(array.dtype);
  uint64_t all = 0;
  for (const int64_t dim : array.shape) {
    if (__builtin_mul_overflow(array.row_bytes, static_cast<uint64_t>(dim),
                               &array.row_bytes)) {
      return DataLoss("its shape is too large");
    }
  }
  if (__builtin_mul_overflow(array.row_bytes, array.rows, &all)) {
    return DataLoss("its shape is too large");
  }
  return absl::OkStatus();
}

// A .npy that stands at `offset` and takes `size` bytes.
absl::StatusOr<FileArray> ReadNpy(const RandomAccessFile& file, uint64_t offset,
                                  uint64_t size) {
  FM_ASSIGN_OR_RETURN(const std::string head,
                      ReadPart(file, offset + size, offset,
                               std::min<uint64_t>(size, kHeaderBytesMax)));
  FM_ASSIGN_OR_RETURN(FileArray array, ParseNpyHeader(head));
  if (array.offset > size ||
      array.rows * array.row_bytes > size - array.offset) {
    return DataLoss("it is cut short: {} rows of {} bytes do not fit",
                    array.rows, array.row_bytes);
  }
  array.offset += offset;
  return array;
}

struct ZipMember {
  std::string name;
  uint16_t method = 0;
  uint64_t size = 0;
  uint64_t header = 0;

  std::string_view array_name() const {
    std::string_view array = name;
    if (array.ends_with(".npy")) array.remove_suffix(4);
    return array;
  }
};

// The 64-bit values of a directory entry that are -1 in 32 bits.
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
    uint64_t packed = Load<uint32_t>(bytes, 20);
    member.size = Load<uint32_t>(bytes, 24);
    member.header = Load<uint32_t>(bytes, 42);
    ReadZip64(bytes.substr(kEntryBytes + name_size, extra_size), member.size,
              packed, member.header);
    bytes.remove_prefix(all);
  }
  if (members.empty()) return DataLoss("it has no members");
  return members;
}

absl::StatusOr<std::vector<ZipMember>> ReadDirectory(
    const RandomAccessFile& file, uint64_t size) {
  constexpr size_t kEndBytes = 22;
  constexpr size_t kLocatorBytes = 20;
  const uint64_t tail_size = std::min<uint64_t>(size, kHeaderBytesMax + 64);
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

absl::StatusOr<FileArray> ReadNpzMember(const RandomAccessFile& file,
                                        uint64_t file_size,
                                        const ZipMember& member) {
  constexpr size_t kLocalBytes = 30;
  if (member.method != 0) {
    return DataLoss(
        "it is compressed, so rows cannot be found; write it with numpy.savez");
  }
  FM_ASSIGN_OR_RETURN(const std::string local,
                      ReadPart(file, file_size, member.header, kLocalBytes));
  if (local.size() < kLocalBytes || !local.starts_with("PK\x03\x04")) {
    return DataLoss("its header is damaged");
  }
  const uint64_t begin = member.header + kLocalBytes +
                         Load<uint16_t>(local, 26) + Load<uint16_t>(local, 28);
  if (begin > file_size || member.size > file_size - begin) {
    return DataLoss("it is cut short");
  }
  FM_ASSIGN_OR_RETURN(FileArray array, ReadNpy(file, begin, member.size));
  array.name = member.array_name();
  return array;
}

bool HasField(const std::vector<SourceField>& fields, std::string_view name) {
  return std::any_of(
      fields.begin(), fields.end(),
      [&](const SourceField& field) { return field.name == name; });
}

absl::Status CheckMember(const std::vector<ZipMember>& members,
                         std::string_view name) {
  constexpr size_t kNamesMax = 20;
  std::string names;
  for (const ZipMember& member : members) {
    if (member.array_name() == name) return absl::OkStatus();
    const size_t shown = static_cast<size_t>(&member - members.data());
    if (shown > kNamesMax) continue;
    names += fmt::format("{}\"{}\"", shown == 0 ? "" : ", ",
                         shown == kNamesMax ? "…" : member.array_name());
  }
  return DataLoss("there is no array \"{}\" in it; it has {}", name, names);
}

// The arrays of a .npz, as for ReadArrayFile.
absl::StatusOr<std::vector<FileArray>> ReadNpz(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  FM_ASSIGN_OR_RETURN(const auto members, ReadDirectory(file, size));
  std::vector<FileArray> arrays;
  for (const ZipMember& member : members) {
    if (wanted != nullptr && !HasField(*wanted, member.array_name())) continue;
    auto array = ReadNpzMember(file, size, member);
    if (!array.ok()) {
      const bool others = wanted == nullptr && members.size() > 1;
      return absl::Status(
          array.status().code(),
          fmt::format(
              "{}: {}{}", member.name, ErrorText(array.status()),
              others ? " (`fields` that do not name it do without it)" : ""));
    }
    arrays.push_back(*std::move(array));
  }
  if (wanted == nullptr) return arrays;
  for (const SourceField& field : *wanted) {
    FM_RETURN_IF_ERROR(CheckMember(members, field.name));
  }
  return arrays;
}

}  // namespace

absl::StatusOr<FileArray> ParseNpyHeader(std::string_view bytes) {
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < 12) {
    return DataLoss("it is no .npy file");
  }
  const auto version = static_cast<unsigned char>(bytes[6]);
  const size_t begin = version == 1 ? 10 : 12;
  const size_t length =
      version == 1 ? Load<uint16_t>(bytes, 8) : Load<uint32_t>(bytes, 8);
  if (version < 1 || version > 3 || length > bytes.size() - begin) {
    return DataLoss("its header is of an unknown version, or cut short");
  }
  const std::string_view dict = bytes.substr(begin, length);
  FileArray array;
  FM_ASSIGN_OR_RETURN(array.dtype, NpyDType(DictValue(dict, "descr")));
  FM_RETURN_IF_ERROR(ParseNpyShape(DictValue(dict, "shape"), array));
  const std::string_view fortran = DictValue(dict, "fortran_order");
  if (fortran != "False" && !(fortran == "True" && array.shape.empty())) {
    return DataLoss(
        "it is in Fortran order, whose rows do not stand together; write "
        "numpy.ascontiguousarray of it");
  }
  array.offset = begin + length;
  return array;
}

absl::StatusOr<std::vector<FileArray>> ReadArrayFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  const std::string& path = file.name();
  const ByteRange head{0, std::min<uint64_t>(size, kHeaderBytesMax)};
  if (file.ahead_bytes() > 0) file.Prefetch({&head, 1});
  FM_ASSIGN_OR_RETURN(const std::string magic, ReadPart(file, size, 0, 4));
  std::vector<FileArray> arrays;
  if (!magic.starts_with("PK")) {
    auto array = ReadNpy(file, 0, size);
    if (!array.ok()) return Annotate(array.status(), path);
    arrays.push_back(*std::move(array));
    return arrays;
  }
  auto members = ReadNpz(file, size, wanted);
  if (!members.ok()) return Annotate(members.status(), path);
  return members;
}

}  // namespace feedmill
