#include "core/sources/manifest_resolution.h"

#include <xxhash.h>

#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"
#include "core/io/file_system.h"
#include "core/io/glob.h"
#include "core/io/record_index.h"
#include "core/sources/array_file.h"
#include "core/sources/framing_finder.h"
#include "core/sources/image_labels.h"

namespace feedmill {
namespace {

constexpr uint64_t kNamedBytesMax = uint64_t{1} << 30;

// The open file is the one that is counted, whatever its name means by now.
absl::StatusOr<std::unique_ptr<File>> OpenFor(ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(auto opened, LocalFileSystem().Open(file.path));
  FM_ASSIGN_OR_RETURN(const FileStat stat, opened->Stat());
  file.size = stat.size;
  file.mtime_ns = stat.mtime_ns;
  return opened;
}

absl::StatusOr<uint64_t> CountByIndex(const Framing& framing,
                                      ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
  FM_ASSIGN_OR_RETURN(
      const auto index,
      ProcessRecordIndexes().Get(FramingFinder(framing), *opened, file.path,
                                 FileStat{file.size, file.mtime_ns, false}));
  return index->records();
}

absl::StatusOr<uint64_t> CountRows(const Source& source, ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
  FM_ASSIGN_OR_RETURN(const auto arrays,
                      ArraysOf(source, *opened, file.path, file.size));
  return arrays[0].rows;
}

absl::Status FillFile(const AnalyzedGraph& graph, ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const FileStat stat, LocalFileSystem().Stat(file.path));
  file.size = stat.size;
  file.mtime_ns = stat.mtime_ns;
  const Source& source = graph.graph.source;
  const Positions positions = SourcePositions(source);
  if (graph.needs_index) {
    FM_ASSIGN_OR_RETURN(file.records, CountByIndex(FramingOf(source), file));
  } else if (positions == Positions::kBlocks) {
    file.records = BlocksOf(stat.size);
  } else if (positions == Positions::kFiles ||
             std::holds_alternative<ImagesSource>(source)) {
    file.records = 1;
  } else if (std::holds_alternative<TfRecordSource>(source)) {
    FM_ASSIGN_OR_RETURN(file.records, CountByIndex(FramingOf(source), file));
  } else {
    FM_ASSIGN_OR_RETURN(file.records, CountRows(source, file));
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
  for (const std::string& pattern : *patterns) {
    FM_ASSIGN_OR_RETURN(const auto paths, ResolveGlob(pattern));
    for (const std::string& path : paths) {
      ManifestFile& file = manifest.files.emplace_back();
      file.path = path;
      FM_RETURN_IF_ERROR(FillFile(graph, file));
    }
  }
  if (const auto* images = std::get_if<ImagesSource>(&graph.graph.source)) {
    manifest.classes = LabelClasses(manifest.files, images->label);
  }
  return manifest;
}

}  // namespace

absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          NamedContent& content) {
  FM_ASSIGN_OR_RETURN(const auto file, LocalFileSystem().Open(path));
  FM_ASSIGN_OR_RETURN(const FileStat stat, file->Stat());
  if (stat.size > kNamedBytesMax) {
    return InvalidArgument(
        "{}: {} bytes; a file that an expression names has "
        "at most {}",
        path, stat.size, kNamedBytesMax);
  }
  std::string bytes(stat.size, '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->ReadAt(0, std::as_writable_bytes(std::span<char>(bytes))));
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
