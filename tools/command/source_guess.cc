#include "tools/command/source_guess.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/source_types.h"
#include "core/definition/source_by_name.h"
#include "core/definition/value.h"
#include "core/io/byte_stream.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

// Bytes of a csv file in which its first line is looked for.
constexpr size_t kLineBytes = size_t{16} << 10;
// Files that are looked at for bytes.
constexpr size_t kFilesMax = 16;

// Returns the first bytes of a file, uncompressed.
absl::StatusOr<std::string> FirstBytes(const std::string& name, size_t most) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(name));
  std::string head(kCompressionBytes, '\0');
  const auto writable = [](std::string& text) {
    return std::as_writable_bytes(std::span<char>(text));
  };
  FM_ASSIGN_OR_RETURN(size_t got, file->Read(0, writable(head)));
  const Compression compression = CompressionOfBytes(head.substr(0, got));
  head.resize(most);
  if (compression == Compression::kNone) {
    FM_ASSIGN_OR_RETURN(got, file->Read(0, writable(head)));
  } else {
    FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
    const auto read = [&](uint64_t offset, std::span<std::byte> out) {
      return file->Read(offset, out).status();
    };
    const auto stream = MakeByteStream(compression, read, 0, identity.size);
    FM_ASSIGN_OR_RETURN(got, stream->Read(writable(head)));
  }
  head.resize(got);
  return head;
}

bool IsText(std::string_view bytes) {
  const bool control = std::ranges::any_of(bytes, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' &&
           c != '\r' && c != '\f';
  });
  if (control) return false;
  // The last character may be cut.
  for (size_t cut = 0; cut < 4 && cut <= bytes.size(); ++cut) {
    if (IsUtf8(bytes.substr(0, bytes.size() - cut))) return true;
  }
  return false;
}

const SourceKind* KindByBytes(std::string_view head) {
  for (const SourceKind* const kind : SourceKinds()) {
    if (kind->Begins(head)) return kind;
  }
  if (!IsText(head)) return nullptr;
  if (head.starts_with(kUtf8Mark)) head.remove_prefix(kUtf8Mark.size());
  const size_t first = head.find_first_not_of(" \t\r\n");
  const bool object = first != head.npos && head[first] == '{';
  return FindSourceKind(object ? "jsonl" : "text");
}

// Returns the kind of files whose names are known: of all, or images among
// others, which their source passes over. Null if no name says a kind.
absl::StatusOr<const SourceKind*> KindOfNames(
    const std::string& pattern, std::span<const FoundFile> files) {
  std::map<std::string_view, size_t> counts;  // by name of the kind
  for (const FoundFile& file : files) {
    const std::string_view name = file.name;
    if (name.substr(name.rfind('/') + 1).starts_with('_')) continue;
    const SourceKind* const kind = KindByName(name);
    if (kind != nullptr) ++counts[kind->name()];
  }
  if (counts.empty()) return nullptr;
  const auto most = std::ranges::max_element(
      counts, {}, [](const auto& count) { return count.second; });
  const SourceKind* const kind = FindSourceKind(most->first);
  if (counts.size() == 1 || most->first == "images") return kind;
  std::vector<std::string> found;
  for (const auto& [name, count] : counts) {
    found.push_back(fmt::format("{} of {}", count, name));
  }
  return InvalidArgument(
      "{}: it has files of several kinds ({}); name those of one, as in "
      "'*{}', or the source with --as",
      pattern, fmt::join(found, ", "), kind->endings().front());
}

absl::StatusOr<const SourceKind*> KindOfFiles(const std::string& pattern) {
  if (const SourceKind* const kind = KindByName(pattern)) return kind;
  FM_ASSIGN_OR_RETURN(const auto files, FindFiles(pattern));
  FM_ASSIGN_OR_RETURN(const SourceKind* const named,
                      KindOfNames(pattern, files));
  if (named != nullptr) return named;
  for (size_t k = 0; k < std::min(kFilesMax, files.size()); ++k) {
    FM_ASSIGN_OR_RETURN(const std::string head,
                        FirstBytes(files[k].name, kFileHeadBytes));
    if (head.empty()) continue;
    if (const SourceKind* const kind = KindByBytes(head)) return kind;
    break;
  }
  return InvalidArgument(
      "{}: neither its name nor its first bytes say what it is; name the "
      "source with --as",
      pattern);
}

// Returns the delimiter that the first line of a csv file has.
absl::StatusOr<std::string> DelimiterOf(const std::string& pattern) {
  FM_ASSIGN_OR_RETURN(const FoundFile file, FindOneFile(pattern));
  FM_ASSIGN_OR_RETURN(const std::string head,
                      FirstBytes(file.name, kLineBytes));
  const std::string_view line =
      std::string_view(head).substr(0, head.find('\n'));
  for (const std::string_view delimiter : {",", "\t", ";", "|"}) {
    if (line.find(delimiter) != line.npos) return std::string(delimiter);
  }
  return std::string(",");
}

}  // namespace

bool IsPipelineName(std::string_view name) {
  return name == "-" || name.ends_with(".yaml") || name.ends_with(".yml");
}

absl::StatusOr<Pipeline> GuessPipeline(const std::vector<std::string>& files,
                                       std::string_view as) {
  std::string name(as);
  for (const std::string& pattern : files) {
    if (!as.empty()) break;
    FM_ASSIGN_OR_RETURN(const SourceKind* const kind, KindOfFiles(pattern));
    if (!name.empty() && name != kind->name()) {
      return InvalidArgument(
          "{} is of {} and {} of {}; look at the files of one kind at a time",
          files.front(), name, pattern, kind->name());
    }
    name = kind->name();
  }
  Value::List patterns;
  for (const std::string& pattern : files) {
    patterns.emplace_back(pattern, /*quoted=*/true);
  }
  Value::Map options = {{Value("files", true), Value(std::move(patterns))}};
  if (name == "csv") {
    FM_ASSIGN_OR_RETURN(const std::string delimiter,
                        DelimiterOf(files.front()));
    options.push_back({Value("delimiter", true), Value(delimiter, true)});
  }
  return MakePipeline(name, Value(std::move(options)));
}

}  // namespace feedmill
