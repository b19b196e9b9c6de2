#ifndef FEEDMILL_CORE_OPERATORS_TYPE_CHECKS_H_
#define FEEDMILL_CORE_OPERATORS_TYPE_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/step_kind.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

// Checks of options, and types that several kinds of steps share.
// InvalidArgument says what does not fit.

namespace feedmill {

// Largest size of a batch or window, and largest bound of one.
inline constexpr int64_t kBatchSizeMax = int64_t{1} << 32;

// Returns the type as text: "uint8[2, 3]".
std::string TypeText(const ComponentSpec& component);
// Returns the component's name for messages and for steps that need one: "x" if
// it is unnamed.
std::string NameOrX(const ComponentSpec& component);
// Returns at most 60 bytes of the text.
std::string Shortened(std::string text);

// Checks that `count` is at least 0.
absl::Status CheckCount(int64_t count);
// Checks that `size` is 1 to kBatchSizeMax; the error names `what`.
absl::Status CheckSize(std::string_view what, int64_t size);

// Checks that `folder` is a path, or a URL of a store that is written. The
// error names `what`.
absl::Status CheckWritten(const std::string& folder, std::string_view what);

// Finds the component `name`, which must be an image [height, width, channels]
// for each record.
absl::StatusOr<size_t> FindImage(const std::string& name,
                                 const StepInput& input);
// Checks that the component defines the length of an element: by its first
// dimension, as an integer, or as bytes.
absl::Status CheckLengthComponent(const std::string& component,
                                  const ElementSpec& spec);
absl::Status CheckPadding(const std::vector<Padding>& padding,
                          const ElementSpec& spec);

// Returns the spec of batches of elements; `size` may be kUnknownDim.
absl::StatusOr<ElementSpec> BatchedSpec(const ElementSpec& spec, int64_t size,
                                        BatchLayout layout,
                                        const std::vector<Padding>& padding);
// Returns the spec of elements after splitting along the first axis.
absl::StatusOr<ElementSpec> UnbatchedSpec(ElementSpec spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_TYPE_CHECKS_H_
