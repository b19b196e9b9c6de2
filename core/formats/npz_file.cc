#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/formats/npy_file.h"
#include "core/formats/npy_header.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

constexpr size_t kDirectoryBytesMax = size_t{16} << 20;
constexpr size_t kMembersMax = 1000;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

// An entry of the directory of a zip file.
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
    const auto id = LoadLittleEndian<uint16_t>(extra, 0);
    const size_t length = LoadLittleEndian<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return;
    std::string_view values = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (uint64_t* value : {&size, &packed, &header}) {
      if (*value != 0xffffffff || values.size() < 8) continue;
      *value = LoadLittleEndian<uint64_t>(values, 0);
      values.remove_prefix(8);
    }
  }
}

absl::StatusOr<std::vector<ZipMember>> ParseDirectory(std::string_view bytes) {
  constexpr size_t kEntryBytes = 46;
  std::vector<ZipMember> members;
  while (bytes.size() >= kEntryBytes && bytes.starts_with("PK\x01\x02")) {
    const size_t name_size = LoadLittleEndian<uint16_t>(bytes, 28);
    const size_t extra_size = LoadLittleEndian<uint16_t>(bytes, 30);
    const size_t comment_size = LoadLittleEndian<uint16_t>(bytes, 32);
    const size_t all = kEntryBytes + name_size + extra_size + comment_size;
    if (all > bytes.size() || members.size() == kMembersMax) {
      return DataLoss("its directory of members is damaged");
    }
    ZipMember& member = members.emplace_back();
    member.name = bytes.substr(kEntryBytes, name_size);
    member.method = LoadLittleEndian<uint16_t>(bytes, 10);
    member.crc = LoadLittleEndian<uint32_t>(bytes, 16);
    member.packed = LoadLittleEndian<uint32_t>(bytes, 20);
    member.size = LoadLittleEndian<uint32_t>(bytes, 24);
    member.header = LoadLittleEndian<uint32_t>(bytes, 42);
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
                      ReadBytesAt(file, size, size - tail_size, tail_size));
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == std::string::npos || tail.size() - end < kEndBytes) {
    return DataLoss("its directory of members is missing (cut short?)");
  }
  uint64_t length = LoadLittleEndian<uint32_t>(tail, end + 12);
  uint64_t offset = LoadLittleEndian<uint32_t>(tail, end + 16);
  const std::string_view locator =
      end < kLocatorBytes
          ? std::string_view()
          : std::string_view(tail).substr(end - kLocatorBytes, kLocatorBytes);
  if (locator.starts_with("PK\x06\x07")) {
    const uint64_t at = LoadLittleEndian<uint64_t>(locator, 8);
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
    length = LoadLittleEndian<uint64_t>(end64, 40);
    offset = LoadLittleEndian<uint64_t>(end64, 48);
  }
  if (length > kDirectoryBytesMax || offset > size) {
    return DataLoss("its directory of members is damaged");
  }
  FM_ASSIGN_OR_RETURN(const std::string directory,
                      ReadBytesAt(file, size, offset, length));
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
                      ReadBytesAt(file, file_size, member.header, kLocalBytes));
  if (local.size() < kLocalBytes || !local.starts_with("PK\x03\x04")) {
    return DataLoss("its header is damaged");
  }
  const uint64_t begin = member.header + kLocalBytes +
                         LoadLittleEndian<uint16_t>(local, 26) +
                         LoadLittleEndian<uint16_t>(local, 28);
  const bool deflated = member.method == kDeflated;
  const uint64_t stored = deflated ? member.packed : member.size;
  // The directory follows the members.
  if (begin >= file_size || stored >= file_size - begin) {
    return DataLoss("it is cut short");
  }
  NpyPlace place{begin, member.size};
  if (deflated)
    place.deflated = {begin, begin + stored, member.size, member.crc};
  return ReadNpyArrays(file, place, member.array_name());
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
                         shown == kNamesMax ? "…" : Shown(member.array_name()));
  }
  return DataLoss("there is no array \"{}\" in it; it has {}", name, names);
}

}  // namespace

absl::StatusOr<std::vector<FileArray>> ReadNpzArrays(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>* wanted) {
  FM_ASSIGN_OR_RETURN(const auto members, ReadDirectory(file, size));
  std::vector<FileArray> arrays;
  for (const ZipMember& member : members) {
    if (wanted != nullptr && !HasField(*wanted, member.array_name())) continue;
    auto read = ReadNpzMember(file, size, member);
    if (absl::IsDataLoss(read.status())) {
      FileArray& array = arrays.emplace_back();
      array.name = member.array_name();
      array.unreadable =
          fmt::format("{}: {}", Shown(member.name), ErrorText(read.status()));
      continue;
    }
    FM_RETURN_IF_ERROR(read.status());
    std::move(read->begin(), read->end(), std::back_inserter(arrays));
  }
  if (wanted == nullptr) return arrays;
  for (const SourceField& field : *wanted) {
    FM_RETURN_IF_ERROR(CheckMember(members, field.name));
  }
  return arrays;
}

}  // namespace feedmill
