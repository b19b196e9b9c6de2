#include "core/sources/compression_inference.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/io/byte_stream.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"

namespace feedmill {
namespace {

bool IsBehindUrl(const std::string& pattern) {
  const std::string_view scheme = SchemeOf(pattern);
  return !scheme.empty() && scheme != "file";
}

absl::StatusOr<Compression> CompressionIn(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(name));
  std::array<char, kCompressionBytes> bytes;
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->Read(0, std::as_writable_bytes(std::span<char>(bytes))));
  return CompressionOfBytes({bytes.data(), got});
}

absl::StatusOr<Compression> CompressionInFirst(const std::string& pattern) {
  FM_ASSIGN_OR_RETURN(const auto found, FindFiles(pattern));
  // A list on this machine may name objects behind URLs.
  if (IsBehindUrl(found.front().name)) return Compression::kNone;
  return CompressionIn(found.front().name);
}

}  // namespace

void InferCompression(Source& source, const std::string& first_file) {
  const Compression* const written = WrittenCompression(source);
  if (written == nullptr || *written != Compression::kByName) return;
  const std::vector<std::string>& files = *SourceFiles(source);
  if (files.empty()) return;
  const Compression named = CompressionOf(files.front());
  for (const std::string& file : files) {
    if (file.empty() || CompressionOf(file) != named) return;
  }
  if (first_file.empty() && IsBehindUrl(files.front())) return;
  const auto told = first_file.empty() ? CompressionInFirst(files.front())
                                       : CompressionIn(first_file);
  if (told.ok() && *told != Compression::kNone) {
    *MutableCompression(source) = *told;
  }
}

}  // namespace feedmill
