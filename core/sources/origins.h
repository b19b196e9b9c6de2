#ifndef FEEDMILL_CORE_SOURCES_ORIGINS_H_
#define FEEDMILL_CORE_SOURCES_ORIGINS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/chunk/skipped_element.h"
#include "core/io/manifest.h"
#include "core/plan/plan.h"
#include "core/sources/file_order.h"
#include "core/sources/source_plan.h"

namespace feedmill {

// Finds the files and records of a plan's records. Immutable; any thread.
class OriginFinder {
 public:
  // `manifest`: null if there are no files.
  OriginFinder(std::shared_ptr<const Plan> plan,
               std::shared_ptr<const Manifest> manifest, SourcePlan source);

  // Appends the origins of `ref` (`row`: its row in a block or file): one
  // record, or the records of the inputs' elements.
  void Find(const RecordRef& ref, uint64_t row,
            std::vector<RecordOrigin>& out) const;

 private:
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const Manifest> manifest_;
  const SourcePlan source_;
  const FileOrder order_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ORIGINS_H_
