#ifndef FEEDMILL_CORE_PIPELINE_ORIGINS_H_
#define FEEDMILL_CORE_PIPELINE_ORIGINS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/chunk/skipped_element.h"
#include "core/plan/plan.h"
#include "core/sources/manifest.h"
#include "core/sources/source_plan.h"

namespace feedmill {

// Says which records of which files a plan's records are. Immutable; any
// thread.
class OriginFinder {
 public:
  OriginFinder(std::shared_ptr<const Plan> plan,
               std::shared_ptr<const Manifest> manifest, SourcePlan source)
      : plan_(std::move(plan)),
        manifest_(std::move(manifest)),
        source_(std::move(source)) {}

  // Appends what `ref` (in a block or file, its row) is made of: a record, or
  // those of the elements of the inputs.
  void Find(const RecordRef& ref, uint64_t row,
            std::vector<RecordOrigin>& out) const;

 private:
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const Manifest> manifest_;  // null: no files
  const SourcePlan source_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ORIGINS_H_
