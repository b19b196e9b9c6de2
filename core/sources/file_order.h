#ifndef FEEDMILL_CORE_SOURCES_FILE_ORDER_H_
#define FEEDMILL_CORE_SOURCES_FILE_ORDER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/io/manifest.h"
#include "core/plan/plan.h"

namespace feedmill {

// Maps a plan's record to a record of the source. The two differ only if the
// plan's first step shuffles files (`shuffle: {files: true}`), because the plan
// counts records and does not know files. Keeps the order of the last requested
// pass. Any thread.
class FileOrder {
 public:
  // Both arguments must outlive this object.
  FileOrder(const Plan& plan, const Manifest& manifest);

  bool same() const { return !files_; }
  uint64_t At(const RecordRef& ref) const;
  // Maps all of `refs`, in their order.
  void Map(std::span<const RecordRef> refs, std::vector<uint64_t>& out) const;

 private:
  struct Order {
    uint64_t pass = 0;
    std::vector<uint64_t> begins;   // begins of the files in the new order
    std::vector<uint64_t> sources;  // begins of these files in the old order
    uint64_t At(uint64_t index) const;
  };
  std::shared_ptr<const Order> OrderOf(uint64_t pass) const;

  const Plan& plan_;
  const Manifest& manifest_;
  const bool files_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Order> last_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FILE_ORDER_H_
