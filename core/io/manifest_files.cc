#include "core/io/manifest_files.h"

#include <algorithm>
#include <optional>

#include "core/base/status.h"
#include "core/io/announced_wait.h"
#include "core/io/file_systems.h"
#include "core/io/read_ahead.h"

namespace feedmill {
namespace {

constexpr size_t kOpenFilesMax = 256;

}  // namespace

ManifestFiles::ManifestFiles(std::shared_ptr<const Manifest> manifest)
    : manifest_(std::move(manifest)) {
  first_.reserve(manifest_->files.size() + 1);
  first_.push_back(0);
  for (const ManifestFile& file : manifest_->files) {
    first_.push_back(first_.back() + file.records);
    has_urls_ = has_urls_ || !SchemeOf(file.path).empty();
  }
}

ManifestFiles::Place ManifestFiles::Find(uint64_t index) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), index);
  const auto file = static_cast<size_t>(after - first_.begin()) - 1;
  return {file, index - first_[file]};
}

std::string ManifestFiles::NameOfRecord(uint64_t index) const {
  const Place place = Find(index);
  return fmt::format("{}: record {}", info(place.file).path, place.record);
}

absl::Status ManifestFiles::Changed(size_t file) const {
  return FailedPrecondition(
      "{}: changed since the job began; restore it, or start a new job",
      info(file).path);
}

absl::Status ManifestFiles::OrGone(size_t file,
                                   const absl::Status& status) const {
  if (!absl::IsNotFound(status)) return status;
  return FailedPrecondition(
      "{}: changed since the job began: this machine does not have it; "
      "restore it (each worker needs it at this path), or start a new job",
      info(file).path);
}

absl::Status ManifestFiles::Check(size_t file,
                                  const RandomAccessFile& opened) const {
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, opened.Identity());
  return identity == info(file).identity() ? absl::OkStatus() : Changed(file);
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> ManifestFiles::OpenOnce(
    size_t file) const {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files,
                      FileSystemOf(info(file).path));
  auto opened = files->OpenKnown(info(file).path, info(file).identity());
  if (!opened.ok()) return OrGone(file, opened.status());
  FM_RETURN_IF_ERROR(Check(file, **opened));
  return opened;
}

absl::StatusOr<std::shared_ptr<const RandomAccessFile>> ManifestFiles::Open(
    size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_file_.find(file);
    if (found != by_file_.end()) {
      open_.splice(open_.begin(), open_, found->second);
      return found->second->opened;
    }
  }
  FM_ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> opened,
                      OpenOnce(file));
  const std::lock_guard lock(mutex_);
  if (by_file_.contains(file)) return opened;
  open_.push_front({file, opened});
  by_file_[file] = open_.begin();
  if (open_.size() > kOpenFilesMax) {
    by_file_.erase(open_.back().file);
    open_.pop_back();
  }
  return opened;
}

absl::StatusOr<std::shared_ptr<const RecordIndex>> ManifestFiles::Index(
    const RecordFinder& finder, size_t file) const {
  FM_ASSIGN_OR_RETURN(const auto opened, Open(file));
  FM_ASSIGN_OR_RETURN(auto index, ProcessRecordIndexes().Get(
                                      finder, *opened, info(file).identity()));
  if (index->records() != info(file).records) return Changed(file);
  return index;
}

absl::Status ManifestFiles::Fill(size_t file, const RandomAccessFile& opened,
                                 uint64_t offset,
                                 std::span<std::byte> out) const {
  std::optional<AnnouncedWait> wait;
  if (has_urls_) wait.emplace();
  const auto got = opened.Read(offset, out);
  if (!got.ok()) return OrGone(file, got.status());
  return *got == out.size() ? absl::OkStatus() : Changed(file);
}

absl::Status ManifestFiles::Read(size_t file, const RandomAccessFile& opened,
                                 uint64_t offset,
                                 std::span<std::byte> out) const {
  FM_RETURN_IF_ERROR(Fill(file, opened, offset, out));
  return Check(file, opened);
}

ReadFileAt ManifestFiles::ReadInOrder(
    size_t file, std::shared_ptr<const RandomAccessFile> opened, uint64_t begin,
    uint64_t end) const {
  ReadAhead ahead(*opened, begin, std::min(end, info(file).size));
  return [this, file, opened = std::move(opened), ahead](
             uint64_t offset, std::span<std::byte> out) mutable {
    ahead.Reach(offset);
    return Read(file, *opened, offset, out);
  };
}

}  // namespace feedmill
