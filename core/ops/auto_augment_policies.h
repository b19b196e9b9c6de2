#ifndef FEEDMILL_CORE_OPS_AUTO_AUGMENT_POLICIES_H_
#define FEEDMILL_CORE_OPS_AUTO_AUGMENT_POLICIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace feedmill {

// The operations of augmentations, in torchvision's order.
enum class AugmentOp : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert
};
inline constexpr size_t kAugmentOps = 15;

// An operation, its probability, and its magnitude: bin `bin` of 10.
struct AutoAugmentPart {
  AugmentOp op = AugmentOp::kIdentity;
  double probability = 0;
  int64_t bin = 0;
};
// Each row draws one of these, and applies both parts in order.
using AutoAugmentPolicies = std::array<std::array<AutoAugmentPart, 2>, 25>;

// Returns torchvision's policies "imagenet", "cifar10" or "svhn"; null for
// another name.
const AutoAugmentPolicies* FindAutoAugmentPolicies(std::string_view name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_AUTO_AUGMENT_POLICIES_H_
