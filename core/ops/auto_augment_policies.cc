#include "core/ops/auto_augment_policies.h"

namespace feedmill {
namespace {

constexpr AutoAugmentPolicies kImagenetPolicies = {{
    {{{AugmentOp::kPosterize, 0.4, 8}, {AugmentOp::kRotate, 0.6, 9}}},
    {{{AugmentOp::kSolarize, 0.6, 5}, {AugmentOp::kAutoContrast, 0.6, 0}}},
    {{{AugmentOp::kEqualize, 0.8, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kPosterize, 0.6, 7}, {AugmentOp::kPosterize, 0.6, 6}}},
    {{{AugmentOp::kEqualize, 0.4, 0}, {AugmentOp::kSolarize, 0.2, 4}}},
    {{{AugmentOp::kEqualize, 0.4, 0}, {AugmentOp::kRotate, 0.8, 8}}},
    {{{AugmentOp::kSolarize, 0.6, 3}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kPosterize, 0.8, 5}, {AugmentOp::kEqualize, 1.0, 0}}},
    {{{AugmentOp::kRotate, 0.2, 3}, {AugmentOp::kSolarize, 0.6, 8}}},
    {{{AugmentOp::kEqualize, 0.6, 0}, {AugmentOp::kPosterize, 0.4, 6}}},
    {{{AugmentOp::kRotate, 0.8, 8}, {AugmentOp::kColor, 0.4, 0}}},
    {{{AugmentOp::kRotate, 0.4, 9}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kEqualize, 0.0, 0}, {AugmentOp::kEqualize, 0.8, 0}}},
    {{{AugmentOp::kInvert, 0.6, 0}, {AugmentOp::kEqualize, 1.0, 0}}},
    {{{AugmentOp::kColor, 0.6, 4}, {AugmentOp::kContrast, 1.0, 8}}},
    {{{AugmentOp::kRotate, 0.8, 8}, {AugmentOp::kColor, 1.0, 2}}},
    {{{AugmentOp::kColor, 0.8, 8}, {AugmentOp::kSolarize, 0.8, 7}}},
    {{{AugmentOp::kSharpness, 0.4, 7}, {AugmentOp::kInvert, 0.6, 0}}},
    {{{AugmentOp::kShearX, 0.6, 5}, {AugmentOp::kEqualize, 1.0, 0}}},
    {{{AugmentOp::kColor, 0.4, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kEqualize, 0.4, 0}, {AugmentOp::kSolarize, 0.2, 4}}},
    {{{AugmentOp::kSolarize, 0.6, 5}, {AugmentOp::kAutoContrast, 0.6, 0}}},
    {{{AugmentOp::kInvert, 0.6, 0}, {AugmentOp::kEqualize, 1.0, 0}}},
    {{{AugmentOp::kColor, 0.6, 4}, {AugmentOp::kContrast, 1.0, 8}}},
    {{{AugmentOp::kEqualize, 0.8, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
}};

constexpr AutoAugmentPolicies kCifar10Policies = {{
    {{{AugmentOp::kInvert, 0.1, 0}, {AugmentOp::kContrast, 0.2, 6}}},
    {{{AugmentOp::kRotate, 0.7, 2}, {AugmentOp::kTranslateX, 0.3, 9}}},
    {{{AugmentOp::kSharpness, 0.8, 1}, {AugmentOp::kSharpness, 0.9, 3}}},
    {{{AugmentOp::kShearY, 0.5, 8}, {AugmentOp::kTranslateY, 0.7, 9}}},
    {{{AugmentOp::kAutoContrast, 0.5, 0}, {AugmentOp::kEqualize, 0.9, 0}}},
    {{{AugmentOp::kShearY, 0.2, 7}, {AugmentOp::kPosterize, 0.3, 7}}},
    {{{AugmentOp::kColor, 0.4, 3}, {AugmentOp::kBrightness, 0.6, 7}}},
    {{{AugmentOp::kSharpness, 0.3, 9}, {AugmentOp::kBrightness, 0.7, 9}}},
    {{{AugmentOp::kEqualize, 0.6, 0}, {AugmentOp::kEqualize, 0.5, 0}}},
    {{{AugmentOp::kContrast, 0.6, 7}, {AugmentOp::kSharpness, 0.6, 5}}},
    {{{AugmentOp::kColor, 0.7, 7}, {AugmentOp::kTranslateX, 0.5, 8}}},
    {{{AugmentOp::kEqualize, 0.3, 0}, {AugmentOp::kAutoContrast, 0.4, 0}}},
    {{{AugmentOp::kTranslateY, 0.4, 3}, {AugmentOp::kSharpness, 0.2, 6}}},
    {{{AugmentOp::kBrightness, 0.9, 6}, {AugmentOp::kColor, 0.2, 8}}},
    {{{AugmentOp::kSolarize, 0.5, 2}, {AugmentOp::kInvert, 0.0, 0}}},
    {{{AugmentOp::kEqualize, 0.2, 0}, {AugmentOp::kAutoContrast, 0.6, 0}}},
    {{{AugmentOp::kEqualize, 0.2, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kColor, 0.9, 9}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kAutoContrast, 0.8, 0}, {AugmentOp::kSolarize, 0.2, 8}}},
    {{{AugmentOp::kBrightness, 0.1, 3}, {AugmentOp::kColor, 0.7, 0}}},
    {{{AugmentOp::kSolarize, 0.4, 5}, {AugmentOp::kAutoContrast, 0.9, 0}}},
    {{{AugmentOp::kTranslateY, 0.9, 9}, {AugmentOp::kTranslateY, 0.7, 9}}},
    {{{AugmentOp::kAutoContrast, 0.9, 0}, {AugmentOp::kSolarize, 0.8, 3}}},
    {{{AugmentOp::kEqualize, 0.8, 0}, {AugmentOp::kInvert, 0.1, 0}}},
    {{{AugmentOp::kTranslateY, 0.7, 9}, {AugmentOp::kAutoContrast, 0.9, 0}}},
}};

constexpr AutoAugmentPolicies kSvhnPolicies = {{
    {{{AugmentOp::kShearX, 0.9, 4}, {AugmentOp::kInvert, 0.2, 0}}},
    {{{AugmentOp::kShearY, 0.9, 8}, {AugmentOp::kInvert, 0.7, 0}}},
    {{{AugmentOp::kEqualize, 0.6, 0}, {AugmentOp::kSolarize, 0.6, 6}}},
    {{{AugmentOp::kInvert, 0.9, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kEqualize, 0.6, 0}, {AugmentOp::kRotate, 0.9, 3}}},
    {{{AugmentOp::kShearX, 0.9, 4}, {AugmentOp::kAutoContrast, 0.8, 0}}},
    {{{AugmentOp::kShearY, 0.9, 8}, {AugmentOp::kInvert, 0.4, 0}}},
    {{{AugmentOp::kShearY, 0.9, 5}, {AugmentOp::kSolarize, 0.2, 6}}},
    {{{AugmentOp::kInvert, 0.9, 0}, {AugmentOp::kAutoContrast, 0.8, 0}}},
    {{{AugmentOp::kEqualize, 0.6, 0}, {AugmentOp::kRotate, 0.9, 3}}},
    {{{AugmentOp::kShearX, 0.9, 4}, {AugmentOp::kSolarize, 0.3, 3}}},
    {{{AugmentOp::kShearY, 0.8, 8}, {AugmentOp::kInvert, 0.7, 0}}},
    {{{AugmentOp::kEqualize, 0.9, 0}, {AugmentOp::kTranslateY, 0.6, 6}}},
    {{{AugmentOp::kInvert, 0.9, 0}, {AugmentOp::kEqualize, 0.6, 0}}},
    {{{AugmentOp::kContrast, 0.3, 3}, {AugmentOp::kRotate, 0.8, 4}}},
    {{{AugmentOp::kInvert, 0.8, 0}, {AugmentOp::kTranslateY, 0.0, 2}}},
    {{{AugmentOp::kShearY, 0.7, 6}, {AugmentOp::kSolarize, 0.4, 8}}},
    {{{AugmentOp::kInvert, 0.6, 0}, {AugmentOp::kRotate, 0.8, 4}}},
    {{{AugmentOp::kShearY, 0.3, 7}, {AugmentOp::kTranslateX, 0.9, 3}}},
    {{{AugmentOp::kShearX, 0.1, 6}, {AugmentOp::kInvert, 0.6, 0}}},
    {{{AugmentOp::kSolarize, 0.7, 2}, {AugmentOp::kTranslateY, 0.6, 7}}},
    {{{AugmentOp::kShearY, 0.8, 4}, {AugmentOp::kInvert, 0.8, 0}}},
    {{{AugmentOp::kShearX, 0.7, 9}, {AugmentOp::kTranslateY, 0.8, 3}}},
    {{{AugmentOp::kShearY, 0.8, 5}, {AugmentOp::kAutoContrast, 0.7, 0}}},
    {{{AugmentOp::kShearX, 0.7, 2}, {AugmentOp::kInvert, 0.1, 0}}},
}};

}  // namespace

const AutoAugmentPolicies* FindAutoAugmentPolicies(std::string_view name) {
  if (name == "imagenet") return &kImagenetPolicies;
  if (name == "cifar10") return &kCifar10Policies;
  if (name == "svhn") return &kSvhnPolicies;
  return nullptr;
}

}  // namespace feedmill
