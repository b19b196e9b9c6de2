#include "core/sources/record_source.h"

#include <algorithm>
#include <numeric>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/sources/record_format.h"

namespace feedmill {
namespace {

// Records of a run that are looked up together.
constexpr uint64_t kRunRows = 2048;

}  // namespace

absl::StatusOr<std::unique_ptr<const RecordSource>> RecordSource::Make(
    const Source& source, bool counted,
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live,
    const RowFilter& filter) {
  if (manifest == nullptr && SourceFiles(source) != nullptr) {
    return Internal("a source of files needs a manifest");
  }
  return FormatOf(source).MakeRecords(source.options(), counted,
                                      std::move(manifest), live, filter);
}

absl::StatusOr<size_t> RecordSource::Read(std::span<const uint64_t>, size_t,
                                          Scratch&, RecordBlock&) const {
  return Internal("records of an uncounted source cannot be read by number");
}

absl::StatusOr<size_t> RecordSource::ReadRun(uint64_t first, uint64_t count,
                                             size_t bytes_max, Scratch& scratch,
                                             RecordBlock& out) const {
  std::vector<uint64_t> indexes(std::min<uint64_t>(count, kRunRows));
  std::iota(indexes.begin(), indexes.end(), first);
  return Read(indexes, bytes_max, scratch, out);
}

absl::StatusOr<bool> RecordSource::ReadBlock(uint64_t, uint64_t, size_t,
                                             RecordBlock&) const {
  return Internal("a counted source has no blocks");
}

}  // namespace feedmill
