#ifndef FEEDMILL_CORE_DATASET_SOURCE_H_
#define FEEDMILL_CORE_DATASET_SOURCE_H_

#include <string_view>

#include "core/dataset/configured.h"

namespace feedmill {

class SourceKind;

// The source of a pipeline: its kind (source_kind.h) and its options, a struct
// of dataset_options.h or of an extension. MakeSource
// (core/operators/registry.h) makes a Source from such a struct.
class Source : public Configured<SourceKind> {
 public:
  Source() = default;  // empty; Analyze rejects it
  using Configured::Configured;

  bool empty() const { return !has_kind(); }
  // Returns the name in YAML: "fixed_length"; "" if empty().
  std::string_view name() const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_H_
