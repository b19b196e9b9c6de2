#include "core/sources/compression_inference.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/source_types.h"
#include "core/io/byte_stream.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

bool IsBehindUrl(const std::string& pattern) {
  const std::string_view scheme = SchemeOf(pattern);
  return !scheme.empty() && scheme != "file";
}

// Time that a store has to tell the first bytes. Workers may reach stores that
// this process does not.
constexpr std::chrono::seconds kLookTime(5);

// Most files that are looked at for bytes.
constexpr size_t kFilesMax = 16;

// A format that no `compression` names, and the bytes with which it begins.
struct OtherFormat {
  std::string_view begin;
  std::string_view name;
  std::string_view advice;
};
constexpr std::array<OtherFormat, 7> kOtherFormats = {{
    {"PK\x03\x04", "a zip archive", "unpack it, as with `unzip`"},
    {"\x04\x22\x4d\x18", "an lz4 file", "decompress it, as with `lz4 -d`"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it, as with `7z x`"},
    {"Rar!\x1a\x07", "a rar archive", "unpack it, as with `unrar x`"},
    {"\x1f\x9d", "a file of `compress`", "decompress it, as with `uncompress`"},
    {"PAR1", "a Parquet file", "read it by the source `parquet`"},
    {"ARROW1", "an Arrow file", "read it by the source `arrow`"},
}};

// The first file of a source.
struct FirstFile {
  std::string name;
  absl::StatusOr<std::string> bytes;  // the first kCompressionBytes
};

absl::StatusOr<std::string> FirstBytes(const FoundFile& found) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(found));
  std::string bytes(kCompressionBytes, '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->Read(0, std::as_writable_bytes(std::span<char>(bytes))));
  bytes.resize(got);
  return bytes;
}

// Returns the first of the files that has bytes: Spark writes an empty _SUCCESS
// into each folder. Without any, returns the first file. REQUIRES: not empty.
FirstFile FirstWithBytes(std::span<const FoundFile> files) {
  for (const FoundFile& file : files.first(std::min(kFilesMax, files.size()))) {
    auto bytes = FirstBytes(file);
    if (!bytes.ok() || !bytes->empty()) return {file.name, std::move(bytes)};
  }
  return {files.front().name, ""};
}

// `found`: the files of the source, if they are known.
absl::StatusOr<FirstFile> Look(const std::string& pattern,
                               std::span<const FoundFile> found) {
  if (!found.empty()) return FirstWithBytes(found);
  std::optional<ReadStop> limit;
  if (IsBehindUrl(pattern) || !FileListOf(pattern).empty()) {
    limit.emplace(std::chrono::steady_clock::now() + kLookTime);
  }
  FM_ASSIGN_OR_RETURN(const FoundFile one, FindOneFile(pattern));
  FirstFile first = FirstWithBytes({&one, 1});
  if (!first.bytes.ok() || !first.bytes->empty()) return first;
  const std::vector<std::string> patterns = {pattern};
  const auto all = FindAllFiles(patterns);
  if (!all.ok() || all->front().empty()) return first;
  return FirstWithBytes(all->front());
}

// True if a file that begins with these bytes is text: in UTF-8, whose last
// character may be cut, or in UTF-16 with a byte order mark.
bool BeginsAsText(std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) {
    return true;
  }
  for (const char c : bytes) {
    const bool space = c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (static_cast<unsigned char>(c) < 0x20 && !space) return false;
  }
  constexpr size_t kCutMax = 3;
  for (size_t cut = 0; cut <= std::min(kCutMax, bytes.size()); ++cut) {
    if (IsUtf8(bytes.substr(0, bytes.size() - cut))) return true;
  }
  return false;
}

// Returns the compression of a source with this first file. nullopt: it is
// unknown, because only the name tells it.
std::optional<Compression> CompressionBy(const FirstFile& first) {
  if (!first.bytes.ok() || first.bytes->empty()) return std::nullopt;
  const Compression compression = CompressionOfBytes(*first.bytes);
  if (compression != Compression::kNone) return compression;
  if (CompressionOf(first.name) == Compression::kNone) return compression;
  if (BeginsAsText(*first.bytes)) return Compression::kNone;
  return std::nullopt;
}

}  // namespace

void InferCompression(Source& source, std::span<const FoundFile> found) {
  const Compression* const written = WrittenCompression(source);
  if (written == nullptr || *written != Compression::kByName) return;
  const std::vector<std::string>& files = *SourceFiles(source);
  if (files.empty()) return;
  const Compression named = CompressionOf(files.front());
  for (const std::string& file : files) {
    if (file.empty() || CompressionOf(file) != named) return;
  }
  const bool list = !FileListOf(files.front()).empty();
  const auto first = Look(files.front(), found);
  if (!first.ok()) return;
  if (const auto compression = CompressionBy(*first)) {
    *MutableCompression(source) = *compression;
  } else if (list) {
    // The name of the list says nothing about its files.
    *MutableCompression(source) = CompressionOf(first->name);
  }
}

std::string FormatAdvice(std::string_view first_bytes) {
  const Compression compression = CompressionOfBytes(first_bytes);
  if (compression != Compression::kNone) {
    return fmt::format(
        "it begins as a {0} file does; if it is one, write `compression: {0}`",
        CompressionName(compression));
  }
  for (const OtherFormat& format : kOtherFormats) {
    if (!first_bytes.starts_with(format.begin)) continue;
    return fmt::format("it begins as {} does; if it is one, {}", format.name,
                       format.advice);
  }
  return "";
}

}  // namespace feedmill
