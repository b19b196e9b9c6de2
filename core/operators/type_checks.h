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
#include "feedmill/element_spec.h"
#include "feedmill/steps.h"

// Checks of options, and types that several kinds of steps make.
// InvalidArgument says what does not fit.

namespace feedmill {

// The largest size of a batch or window, and of what bounds one.
inline constexpr int64_t kBatchSizeMax = int64_t{1} << 32;

// "uint8[2, 3]".
std::string TypeText(const ComponentSpec& component);
// The name in messages and in steps that need one: "x" for the unnamed one.
std::string NameOrX(const ComponentSpec& component);
// The text without what is over 60 bytes.
std::string Shortened(std::string text);

// 0 or more.
absl::Status CheckCount(int64_t count);
// 1 to kBatchSizeMax; `what` is named in the error.
absl::Status CheckSize(std::string_view what, int64_t size);

// The component `name`, an image [height, width, channels] for each record.
absl::StatusOr<size_t> FindImage(const std::string& name,
                                 const StepInput& input);
// That the length of an element can be told by that component: its first
// dimension, an integer, or bytes.
absl::Status CheckLengthComponent(const std::string& component,
                                  const ElementSpec& spec);
absl::Status CheckPadding(const std::vector<Padding>& padding,
                          const ElementSpec& spec);

// Batches of elements of `spec`; `size` may be kUnknownDim.
absl::StatusOr<ElementSpec> BatchedSpec(const ElementSpec& spec, int64_t size,
                                        BatchLayout layout,
                                        const std::vector<Padding>& padding);
// The rows of elements along their first axes.
absl::StatusOr<ElementSpec> UnbatchedSpec(ElementSpec spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_TYPE_CHECKS_H_
