#include "core/io/known_files.h"

#include "core/base/status.h"

namespace feedmill {

absl::Status KnownFiles::Open(const ManifestFiles& files, size_t file) {
  if (opened_ != nullptr && opened_file_ == file) return absl::OkStatus();
  known_.resize(files.manifest().files.size());
  std::weak_ptr<const RandomAccessFile>& known = known_[file].opened;
  opened_ = known.lock();
  if (opened_ == nullptr) {
    FM_ASSIGN_OR_RETURN(opened_, files.Open(file));
    known = opened_;
  }
  opened_file_ = file;
  return absl::OkStatus();
}

absl::Status KnownFiles::FindIndex(const RecordFinder& finder,
                                   const ManifestFiles& files, size_t file) {
  if (index_ != nullptr && index_file_ == file) return absl::OkStatus();
  known_.resize(files.manifest().files.size());
  std::weak_ptr<const RecordIndex>& known = known_[file].index;
  index_ = known.lock();
  if (index_ == nullptr) {
    FM_ASSIGN_OR_RETURN(index_, files.Index(finder, file));
    known = index_;
  }
  index_file_ = file;
  return absl::OkStatus();
}

}  // namespace feedmill
