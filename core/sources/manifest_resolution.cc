#include "core/sources/manifest_resolution.h"

#include <xxhash.h>

#include <memory>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/io/record_index.h"
#include "core/sources/framing.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

constexpr uint64_t kNamedBytesMax = uint64_t{1} << 30;

// The open file is the one that is counted, whatever its name means by now.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFor(ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(auto opened, OpenFile(file.path));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, opened->Identity());
  file.Set(identity);
  return opened;
}

absl::StatusOr<uint64_t> CountByIndex(const Framing& framing,
                                      ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
  FM_ASSIGN_OR_RETURN(const auto index, ProcessRecordIndexes().Get(
                                            framing, *opened, file.identity()));
  return index->records();
}

// Counts the records of a file whose identity is set.
absl::Status CountRecords(const AnalyzedGraph& graph, ManifestFile& file) {
  const Source& source = graph.graph.source;
  const SourceProperties properties = PropertiesOf(source);
  const bool by_record = properties.positions == Positions::kRecords;
  if (graph.needs_index || (by_record && properties.indexed)) {
    FM_ASSIGN_OR_RETURN(file.records, CountByIndex(*FramingOf(source), file));
  } else if (properties.positions == Positions::kBlocks) {
    file.records = BlocksOf(file.size);
  } else if (!by_record || properties.record_per_file) {
    file.records = 1;
  } else {
    FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
    FM_ASSIGN_OR_RETURN(
        file.records,
        FormatOf(source).CountRecords(source.options(), *opened, file.size));
  }
  return absl::OkStatus();
}

// Appends the files of a pattern, with the identities that they have now.
absl::Status AddFiles(const RecordFormat& format, const std::string& pattern,
                      std::vector<ManifestFile>& files) {
  FM_ASSIGN_OR_RETURN(auto all, FindFiles(pattern));
  FM_ASSIGN_OR_RETURN(const auto found,
                      format.FilesToRead(pattern, std::move(all)));
  FM_ASSIGN_OR_RETURN(const FileSystem* const system, FileSystemOf(pattern));
  std::vector<std::string> unknown;
  for (const FoundFile& file : found) {
    if (!file.identity) unknown.push_back(file.name);
  }
  const auto stats = system->StatAll(unknown);
  auto stat = stats.begin();
  for (const FoundFile& file : found) {
    ManifestFile& added = files.emplace_back();
    added.path = file.name;
    if (file.identity) {
      added.Set(*file.identity);
      continue;
    }
    FM_RETURN_IF_ERROR(stat->status());
    added.Set((stat++)->value().identity);
  }
  return absl::OkStatus();
}

absl::StatusOr<Manifest> ResolveSources(const AnalyzedGraph& graph) {
  Manifest manifest;
  for (const auto& input : graph.inputs) {
    FM_ASSIGN_OR_RETURN(manifest.inputs.emplace_back(), ResolveSources(*input));
  }
  const std::vector<std::string>* patterns = SourceFiles(graph.graph.source);
  if (patterns == nullptr) return manifest;
  const Source& source = graph.graph.source;
  const RecordFormat& format = FormatOf(source);
  for (const std::string& pattern : *patterns) {
    FM_RETURN_IF_ERROR(AddFiles(format, pattern, manifest.files));
  }
  for (ManifestFile& file : manifest.files) {
    FM_RETURN_IF_ERROR(CountRecords(graph, file));
  }
  format.FinishManifest(source.options(), manifest);
  return manifest;
}

}  // namespace

absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          NamedContent& content) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(path));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > kNamedBytesMax) {
    return InvalidArgument(
        "{}: {} bytes; a file that an expression names has "
        "at most {}",
        path, identity.size, kNamedBytesMax);
  }
  std::string bytes(identity.size, '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->Read(0, std::as_writable_bytes(std::span<char>(bytes))));
  bytes.resize(got);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  content = {path, hash.low64, hash.high64};
  return bytes;
}

absl::StatusOr<Manifest> ResolveManifest(const AnalyzedGraph& graph) {
  FM_ASSIGN_OR_RETURN(Manifest manifest, ResolveSources(graph));
  for (const NamedFile& file : NamedFiles(graph.graph)) {
    NamedContent content;
    FM_RETURN_IF_ERROR(ReadNamedFile(file.path, content).status());
    const bool known =
        !manifest.contents.empty() && manifest.contents.back() == content;
    if (!known) manifest.contents.push_back(std::move(content));
  }
  return manifest;
}

}  // namespace feedmill
