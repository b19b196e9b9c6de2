#include "core/sources/index_files.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

// True if a read looks up the places of the source's records.
bool IsIndexed(const AnalyzedGraph& graph) {
  return graph.needs_index ||
         (PropertiesOf(graph.graph.source).indexed && graph.source.counted);
}

}  // namespace

void FindIndexedFiles(const AnalyzedGraph& graph,
                      std::vector<IndexedFile>& files,
                      std::vector<absl::Status>& errors) {
  for (const auto& input : graph.inputs) {
    FindIndexedFiles(*input, files, errors);
  }
  const auto* patterns = SourceFiles(graph.graph.source);
  if (patterns == nullptr || !IsIndexed(graph)) return;
  const std::shared_ptr<const Framing> framing = FramingOf(graph.graph.source);
  for (const std::string& pattern : *patterns) {
    auto paths = ResolveGlob(pattern);
    if (!paths.ok()) {
      errors.push_back(paths.status());
      continue;
    }
    for (std::string& path : *paths)
      files.push_back({framing, std::move(path)});
  }
}

absl::StatusOr<KeptIndex> KeepIndex(const IndexedFile& file,
                                    const IndexFolder& folder) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFile(file.path));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, opened->Identity());
  KeptIndex kept;
  kept.file_bytes = identity.size;
  const RecordFinder& finder = *file.framing;
  std::optional<RecordIndex> index =
      folder.Load(finder.name(), file.path, identity);
  kept.how = KeptIndex::How::kThere;
  if (!index) {
    FM_ASSIGN_OR_RETURN(index, finder.Find(*opened, identity.size));
    kept.how = identity.size < IndexFolder::kFileBytesMin
                   ? KeptIndex::How::kSmall
                   : KeptIndex::How::kBuilt;
  }
  kept.records = index->records();
  if (kept.how == KeptIndex::How::kSmall) return kept;
  kept.index_bytes = index->offsets.size() * sizeof(uint64_t);
  if (kept.how == KeptIndex::How::kBuilt) {
    FM_RETURN_IF_ERROR(Annotate(
        folder.Store(finder.name(), file.path, identity, *index), file.path));
  }
  return kept;
}

}  // namespace feedmill
