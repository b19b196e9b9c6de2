#include "core/io/file_list.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/io/file_systems.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "manifest:";
constexpr std::string_view kUrl = "'url'";
constexpr std::string_view kBlanks = " \t\r";
constexpr uint64_t kListBytesMax = uint64_t{1} << 30;

// Reads the beginning of a list, `bytes` of it.
absl::StatusOr<std::string> ReadList(const std::string& name,
                                     uint64_t bytes = kListBytesMax) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(name));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > kListBytesMax) {
    return InvalidArgument("{}: {} bytes; a list of files has at most {}", name,
                           identity.size, kListBytesMax);
  }
  std::string text(std::min(identity.size, bytes), '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->Read(0, std::as_writable_bytes(std::span<char>(text))));
  text.resize(got);
  return text;
}

// REQUIRES: the line is not blank.
absl::StatusOr<FoundFile> FileOfLine(std::string_view line,
                                     const std::string& folder) {
  FoundFile file;
  const size_t first = line.find_first_not_of(kBlanks);
  line = line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
  if (!line.starts_with('{') && !line.starts_with('[')) {
    FM_ASSIGN_OR_RETURN(file.name,
                        NameInFolder(folder, std::string(line), kUrl));
    return file;
  }
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return InvalidArgument(
        "it is no JSON object, such as {{\"url\": \"s3://bucket/1.csv\", "
        "\"size\": 1000}}");
  }
  FileIdentity identity;
  bool has_size = false;
  for (const auto& [key, value] : json.items()) {
    if (key == "url" && value.is_string()) {
      FM_ASSIGN_OR_RETURN(file.name,
                          NameInFolder(folder, value.get<std::string>(), kUrl));
    } else if (key == "size" && value.is_number_unsigned()) {
      identity.size = value.get<uint64_t>();
      has_size = true;
    } else if (key == "etag" && value.is_string()) {
      identity.etag = value.get<std::string>();
      const bool quoted = identity.etag.starts_with('"');
      if (!identity.etag.empty() && !quoted) {
        identity.etag = fmt::format("\"{}\"", identity.etag);
      }
    } else {
      return InvalidArgument(
          "'{}' is unknown, or of a wrong type; a line has 'url' (text), "
          "'size' (bytes) and 'etag' (text)",
          key.substr(0, 100));
    }
  }
  if (file.name.empty()) return InvalidArgument("'url' is missing");
  const std::string_view scheme = SchemeOf(file.name);
  // The time of change of a local file is known only after a stat.
  if (has_size && !scheme.empty() && scheme != "file") {
    file.identity = std::move(identity);
  }
  return file;
}

}  // namespace

absl::StatusOr<std::string> NameInFolder(const std::string& folder,
                                         std::string name,
                                         std::string_view what) {
  if (name.empty()) return InvalidArgument("{} is empty", what);
  if (name.find('\0') != std::string::npos) {
    return InvalidArgument("{} has a zero byte", what);
  }
  if (name.front() == '/' || !SchemeOf(name).empty()) return name;
  if (folder.find('?') != std::string::npos) {
    return InvalidArgument(
        "{} is a path, but the list's own URL has a query; write whole URLs",
        what);
  }
  return folder + name;
}

std::string_view FileListOf(std::string_view pattern) {
  return pattern.starts_with(kPrefix) ? pattern.substr(kPrefix.size())
                                      : std::string_view();
}

absl::StatusOr<FoundFile> FirstOfFileList(const std::string& name) {
  constexpr uint64_t kFirstBytes = uint64_t{16} << 10;
  FM_ASSIGN_OR_RETURN(const std::string text, ReadList(name, kFirstBytes));
  const std::string folder = name.substr(0, name.rfind('/') + 1);
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const size_t end = text.find('\n', begin);
  if (begin == text.size() ||
      (end == text.npos && text.size() == kFirstBytes)) {
    FM_ASSIGN_OR_RETURN(auto files, ReadFileList(name));
    return std::move(files.front());
  }
  return FileOfLine(std::string_view(text).substr(begin, end - begin), folder);
}

absl::StatusOr<std::vector<FoundFile>> ReadFileList(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const std::string text, ReadList(name));
  return ParseFileList(text, name);
}

absl::StatusOr<std::vector<FoundFile>> ParseFileList(std::string_view text,
                                                     const std::string& name) {
  const std::string folder = name.substr(0, name.rfind('/') + 1);
  std::vector<FoundFile> files;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    auto file = FileOfLine(line, folder);
    if (!file.ok()) {
      return Annotate(file.status(), fmt::format("{}: line {}", name, number));
    }
    files.push_back(*std::move(file));
  }
  if (!files.empty()) return files;
  return NotFound("{}: the list names no files", name);
}

}  // namespace feedmill
