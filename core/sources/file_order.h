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

// Which record of its source a plan's record is, where the plan's first step
// changes the places of the files (`shuffle: {files: true}`); else the same.
// The plan counts records and does not know of files. Any thread; the order of
// the last pass that was asked for is kept.
class FileOrder {
 public:
  // Both must outlive this.
  FileOrder(const Plan& plan, const Manifest& manifest);

  bool same() const { return !files_; }
  uint64_t At(const RecordRef& ref) const;
  // All of `refs`, in their order.
  void Map(std::span<const RecordRef> refs, std::vector<uint64_t>& out) const;

 private:
  struct Order {
    uint64_t pass = 0;
    std::vector<uint64_t> begins;   // of the files in their new order
    std::vector<uint64_t> sources;  // where those began before
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
