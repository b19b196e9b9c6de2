#include "core/io/record_index.h"

#include <optional>

#include "core/base/status.h"
#include "core/io/index_folder.h"

namespace feedmill {
namespace {

constexpr size_t kIndexCacheBytes = size_t{256} << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<const RecordIndex>> RecordIndexCache::Get(
    const RecordFinder& finder, const RandomAccessFile& file,
    const FileIdentity& identity) {
  Key key{finder.name(), file.name(), identity};
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->index;
    }
  }
  // Two threads may build the same index. That is rare, and cheaper than
  // waiting. An index must not outlive its bytes, and a size alone does not
  // identify them.
  const IndexFolder folder(KnowsSizeOnly(identity) ? "" : folder_);
  std::optional<RecordIndex> found =
      folder.Load(finder.name(), file.name(), identity);
  if (!found) {
    FM_ASSIGN_OR_RETURN(found, finder.Find(file, identity.size));
    found->offsets.shrink_to_fit();
    // The folder is a cache: reads do not need it.
    folder.Store(finder.name(), file.name(), identity, *found).IgnoreError();
  }
  const auto index = std::make_shared<const RecordIndex>(*std::move(found));
  const size_t bytes =
      index->offsets.size() * sizeof(uint64_t) + 2 * file.name().size() + 256;

  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return index;
  entries_.push_front({key, index, bytes});
  by_key_[std::move(key)] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > bytes_max_ && entries_.size() > 1) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return index;
}

RecordIndexCache& ProcessRecordIndexes() {
  static RecordIndexCache cache(kIndexCacheBytes, IndexFolder::OfUser());
  return cache;
}

}  // namespace feedmill
