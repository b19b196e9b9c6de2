#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/io/fetch_ledger.h"
#include "core/io/random_access_file.h"
#include "plugins/arrow/cloud_fetches.h"

namespace feedmill {

// An open object of a store that Arrow reads.
class CloudFile final : public RandomAccessFile {
 public:
  explicit CloudFile(std::shared_ptr<CloudObject> object);

  absl::StatusOr<FileIdentity> Identity() const override {
    return object_->identity();
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override;
  void Prefetch(std::span<const ByteRange> ranges) const override;
  uint64_t ahead_bytes() const override;

 private:
  using Ledger = FetchLedger<Fetch>;

  void AddPrefetches(const ByteRange& range) const;

  const std::shared_ptr<CloudObject> object_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable Ledger ledger_;
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_FILE_H_
