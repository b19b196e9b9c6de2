#include "core/sources/manifest_resolution.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/image_table_source.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/io/read_stop.h"
#include "core/io/record_index.h"
#include "core/io/side_by_side.h"
#include "core/io/unchanged_file.h"
#include "core/sources/framing.h"
#include "core/sources/record_format.h"
#include "core/sources/table_reader.h"

namespace feedmill {
namespace {

constexpr size_t kCountedTogether = 32;
constexpr uint64_t kNamedBytesMax = uint64_t{1} << 30;

// Opens the file and takes its identity from the open file, because the name
// may mean another file by now. A store is not asked for the version again.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFor(ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(file.path));
  FM_ASSIGN_OR_RETURN(auto opened,
                      files->OpenKnown(file.path, file.identity()));
  FM_ASSIGN_OR_RETURN(opened, RequireUnchanged(std::move(opened)));
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

// Counts the records of a file. REQUIRES: its identity is set.
absl::Status CountRecords(const AnalyzedGraph& graph, ManifestFile& file) {
  FM_RETURN_IF_ERROR(ReadStop::Check(file.path));
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

// Counts all files; files of stores in parallel, because each needs round
// trips.
absl::Status CountAll(const AnalyzedGraph& graph,
                      std::vector<ManifestFile>& files) {
  const bool remote = std::any_of(
      files.begin(), files.end(),
      [](const ManifestFile& file) { return !SchemeOf(file.path).empty(); });
  return ForEachSideBySide(
      files.size(), remote ? kCountedTogether : 1,
      [&](size_t k) { return CountRecords(graph, files[k]); });
}

// Sets the identities of files that no listing contained. Names of one scheme
// are requested together, because a store answers many requests in parallel.
absl::Status SetIdentities(const std::vector<ManifestFile*>& unknown) {
  std::map<std::string_view, std::vector<ManifestFile*>> by_scheme;
  for (ManifestFile* const file : unknown) {
    by_scheme[SchemeOf(file->path)].push_back(file);
  }
  for (const auto& [scheme, files] : by_scheme) {
    std::vector<std::string> names;
    for (const ManifestFile* const file : files) names.push_back(file->path);
    FM_ASSIGN_OR_RETURN(const FileSystem* const system,
                        FileSystemOf(names.front()));
    const auto stats = system->StatAll(names);
    for (size_t k = 0; k < files.size(); ++k) {
      FM_RETURN_IF_ERROR(stats[k].status());
      files[k]->Set(stats[k]->identity);
    }
  }
  return absl::OkStatus();
}

// Returns the files of patterns with their current identities.
absl::StatusOr<std::vector<ManifestFile>> FilesOf(
    const RecordFormat& format, const std::vector<std::string>& patterns) {
  std::vector<ManifestFile> files;
  std::vector<size_t> unknown;
  FM_ASSIGN_OR_RETURN(auto all, FindAllFiles(patterns));
  for (size_t k = 0; k < patterns.size(); ++k) {
    FM_ASSIGN_OR_RETURN(const auto found,
                        format.FilesToRead(patterns[k], std::move(all[k])));
    for (const FoundFile& file : found) {
      ManifestFile& added = files.emplace_back();
      added.path = file.name;
      if (file.identity) {
        added.Set(*file.identity);
      } else {
        unknown.push_back(files.size() - 1);
      }
    }
  }
  std::vector<ManifestFile*> asked;
  for (const size_t k : unknown) asked.push_back(&files[k]);
  FM_RETURN_IF_ERROR(SetIdentities(asked));
  return files;
}

// Returns the files that a column of an image_table names, each a record.
absl::StatusOr<std::vector<ManifestFile>> FilesOfTable(
    const ImageTableSource& source, const Manifest& table) {
  FM_ASSIGN_OR_RETURN(const ElementSpec all, TableSpec(source.table));
  std::vector<bool> live;
  ElementSpec spec;
  for (const ComponentSpec& c : all.components) {
    live.push_back(c.name == source.column);
    if (live.back()) spec.components.push_back(c);
  }
  TableReader reader(source.table[0].source, std::move(spec));
  FM_ASSIGN_OR_RETURN(const Chunk rows,
                      reader.Read(std::make_shared<const Manifest>(table), live,
                                  kNamedBytesMax));
  std::string folder;  // of the table
  if (!table.files.empty()) {
    const std::string& path = table.files[0].path;
    folder = path.substr(0, path.rfind('/') + 1);
  }
  std::vector<ManifestFile> files(rows.rows);
  std::vector<ManifestFile*> asked;
  for (size_t row = 0; row < rows.rows; ++row) {
    const Column& names = rows.columns[0];
    auto name =
        NameInFolder(folder, std::string(names.BytesAt(names.RowStart(row))),
                     fmt::format("\"{}\"", source.column));
    if (!name.ok()) return Annotate(name.status(), reader.NameOf(row));
    files[row].path = *std::move(name);
    files[row].records = 1;
    asked.push_back(&files[row]);
  }
  FM_RETURN_IF_ERROR(SetIdentities(asked));
  return files;
}

absl::StatusOr<Manifest> ResolveSources(const AnalyzedGraph& graph) {
  Manifest manifest;
  if (graph.source.table != nullptr) {
    FM_ASSIGN_OR_RETURN(manifest.tables.emplace_back(),
                        ResolveSources(*graph.source.table));
    FM_ASSIGN_OR_RETURN(manifest.files,
                        FilesOfTable(graph.graph.source.Get<ImageTableSource>(),
                                     manifest.tables[0]));
  }
  for (const AnalyzedStep& step : graph.steps) {
    if (step.table == nullptr) continue;
    FM_ASSIGN_OR_RETURN(manifest.tables.emplace_back(),
                        ResolveSources(*step.table));
  }
  for (const auto& input : graph.inputs) {
    FM_ASSIGN_OR_RETURN(manifest.inputs.emplace_back(), ResolveSources(*input));
  }
  const std::vector<std::string>* patterns = SourceFiles(graph.graph.source);
  if (patterns == nullptr) return manifest;
  const Source& source = graph.graph.source;
  const RecordFormat& format = FormatOf(source);
  FM_ASSIGN_OR_RETURN(manifest.files, FilesOf(format, *patterns));
  FM_RETURN_IF_ERROR(CountAll(graph, manifest.files));
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

absl::StatusOr<std::vector<std::string>> ClassNamesOf(
    const AnalyzedGraph& graph) {
  const auto* const images = graph.graph.source.As<ImagesSource>();
  if (images == nullptr) {
    return InvalidArgument(
        "the source is {}; only labels of images have names of classes",
        graph.graph.source.name());
  }
  if (!images->classes.empty()) return images->classes;
  FM_ASSIGN_OR_RETURN(Manifest manifest, ResolveSources(graph));
  return std::move(manifest.classes);
}

}  // namespace feedmill
