#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/auto_augment_policies.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/random_bits.h"
#include "core/ops/rgb_changes.h"
#include "core/ops/row_items.h"

// Augmentations that draw operations for each row: torchvision's RandAugment,
// TrivialAugmentWide and AutoAugment. docs/semantics/random.md has the
// formulas.

namespace feedmill {
namespace {

// The largest magnitudes of an augmentation.
struct MagnitudeRange {
  double shear = 0.3;
  double translate_of_side = 150.0 / 331.0;
  double translate = 0;  // pixels; 0: a fraction of the side
  double rotate = 30;
  double factor = 0.9;
  double bits = 4;  // that posterize takes away
};
constexpr MagnitudeRange kWideRange{0.99, 0, 32, 135, 0.99, 6};

// An operation with its magnitude: bin `bin` of `bins`.
struct AugmentChoice {
  AugmentOp op = AugmentOp::kIdentity;
  int64_t bin = 0;
  int64_t bins = 10;
  bool negative = false;

  // Returns the magnitude between 0 and `most`, with its sign.
  double Of(double most) const {
    return negative ? -most * Part() : most * Part();
  }
  // Returns the part of the bins, from 0 to 1.
  double Part() const {
    return static_cast<double>(bin) / static_cast<double>(bins - 1);
  }
};

// The factor of an operation on colours.
double ColorFactor(const AugmentChoice& choice, const MagnitudeRange& range) {
  switch (choice.op) {
    case AugmentOp::kPosterize:
      return 8 - std::nearbyint(choice.Part() * range.bits);
    case AugmentOp::kSolarize:
      return 255 * (1 - choice.Part());
    default:
      return 1 + choice.Of(range.factor);
  }
}

AffineArguments MoveOf(const AugmentChoice& choice, const MagnitudeRange& range,
                       ImageSize size) {
  constexpr double kDegrees = 180.0 / std::numbers::pi;
  const auto pixels = [&](int64_t side) {
    const double most = range.translate > 0 ? range.translate
                                            : range.translate_of_side *
                                                  static_cast<double>(side);
    return std::trunc(choice.Of(most));
  };
  const double shear = std::atan(choice.Of(range.shear)) * kDegrees;
  switch (choice.op) {
    case AugmentOp::kShearX:
      return {.shear_x = shear, .about_corner = true};
    case AugmentOp::kShearY:
      return {.shear_y = shear, .about_corner = true};
    case AugmentOp::kTranslateX:
      return {.right = pixels(size.width)};
    default:
      return {.down = pixels(size.height)};
  }
}

// The function on colours of each operation; "" if it is no such operation.
constexpr std::array<std::string_view, kAugmentOps> kColorNames = {
    "",
    "",
    "",
    "",
    "",
    "",
    "adjust_brightness",
    "adjust_saturation",
    "adjust_contrast",
    "adjust_sharpness",
    "posterize",
    "solarize",
    "autocontrast",
    "equalize",
    "invert",
};

// Applies an operation to one image.
void ApplyTo(const uint8_t* from, ImageSize size, const AugmentChoice& choice,
             const MagnitudeRange& range, bool bilinear, uint8_t* to) {
  const std::string_view color = kColorNames[static_cast<size_t>(choice.op)];
  if (!color.empty()) {
    return ColorKernel(color)(from, size, ColorFactor(choice, range), to);
  }
  if (choice.op == AugmentOp::kRotate) {
    return RotateRgb(from, size, choice.Of(range.rotate), bilinear, to);
  }
  AffineRgb(from, size, MoveOf(choice, range, size), bilinear, to);
}

// An augmentation with its options.
struct Augmentation {
  enum class Kind { kRand, kTrivial, kAuto };
  Kind kind = Kind::kRand;
  int64_t operations = 2;
  int64_t magnitude = 9;
  int64_t bins = 31;
  bool bilinear = false;
  const AutoAugmentPolicies* policies = nullptr;
};

bool Below(uint32_t word, double probability) {
  return word * 0x1p-32 < probability;
}

// Returns operation k of a row, or nullopt if none is applied. Its words: the
// operation, or if a policy's is applied; its bin; its sign.
std::optional<AugmentChoice> Choose(const Augmentation& augmentation,
                                    const RandomBits& bits, int64_t k) {
  const std::array<uint32_t, 4> words = bits.Block(static_cast<uint64_t>(k));
  AugmentChoice choice;
  choice.negative = Below(words[2], 0.5);
  if (augmentation.kind == Augmentation::Kind::kAuto) {
    const auto& policies = *augmentation.policies;
    const auto& part = policies[BelowRange(bits.First(), policies.size())]
                               [static_cast<size_t>(k)];
    choice.op = part.op;
    choice.bin = part.bin;
    if (!Below(words[0], part.probability)) return std::nullopt;
    return choice;
  }
  // All operations but invert, which only policies have.
  choice.op = static_cast<AugmentOp>(
      static_cast<uint64_t>(words[0]) * (kAugmentOps - 1) >> 32);
  choice.bins = augmentation.bins;
  choice.bin = augmentation.kind == Augmentation::Kind::kRand
                   ? augmentation.magnitude
                   : static_cast<int64_t>(
                         words[1] * static_cast<uint64_t>(choice.bins) >> 32);
  if (choice.op == AugmentOp::kIdentity) return std::nullopt;
  return choice;
}

constexpr std::string_view NameOf(Augmentation::Kind kind) {
  switch (kind) {
    case Augmentation::Kind::kRand:
      return "image.rand_augment";
    case Augmentation::Kind::kTrivial:
      return "image.trivial_augment_wide";
    default:
      return "image.auto_augment";
  }
}

absl::Status ReadNumber(std::string_view function, std::string_view what,
                        const ValueType& type, int64_t low, int64_t high,
                        int64_t& number) {
  FM_ASSIGN_OR_RETURN(
      number, ConstantInteger(fmt::format("{}: {}", function, what), type));
  if (number >= low && number <= high) return absl::OkStatus();
  return InvalidArgument("{}: {} of {} is out of range, {} to {}", function,
                         what, number, low, high);
}

absl::Status ReadMethod(std::string_view function, const ValueType& type,
                        bool& bilinear) {
  FM_ASSIGN_OR_RETURN(
      const std::string method,
      ConstantText(fmt::format("{}: the method", function), type));
  bilinear = method == "bilinear";
  if (bilinear || method == "nearest") return absl::OkStatus();
  return InvalidArgument(
      "{}: the method '{}' is neither 'nearest' nor 'bilinear'", function,
      method);
}

// Reads the options, which stand behind the image.
absl::StatusOr<Augmentation> ReadAugmentation(
    Augmentation::Kind kind, std::span<const ValueType* const> options) {
  const std::string_view name = NameOf(kind);
  Augmentation augmentation{.kind = kind};
  if (kind == Augmentation::Kind::kAuto) {
    if (options.empty()) {
      return InvalidArgument("{}: it needs a policy, such as 'imagenet'", name);
    }
    FM_ASSIGN_OR_RETURN(
        const std::string policy,
        ConstantText(fmt::format("{}: the policy", name), *options[0]));
    augmentation.policies = FindAutoAugmentPolicies(policy);
    if (augmentation.policies == nullptr) {
      return InvalidArgument(
          "{}: the policy '{}' is not one of 'imagenet', 'cifar10' and 'svhn'",
          name, policy);
    }
    options = options.subspan(1);
  }
  if (!options.empty() && options.back()->dtype == DType::kBytes) {
    FM_RETURN_IF_ERROR(
        ReadMethod(name, *options.back(), augmentation.bilinear));
    options = options.first(options.size() - 1);
  }
  const size_t numbers = kind == Augmentation::Kind::kRand ? 3 : 0;
  if (options.size() > numbers) {
    return InvalidArgument("{}: {} arguments too many", name,
                           options.size() - numbers);
  }
  if (options.size() > 2) {
    FM_RETURN_IF_ERROR(ReadNumber(name, "a number of bins", *options[2], 2,
                                  1000, augmentation.bins));
  }
  if (!options.empty()) {
    FM_RETURN_IF_ERROR(ReadNumber(name, "a number of operations", *options[0],
                                  0, 100, augmentation.operations));
  }
  if (options.size() > 1) {
    FM_RETURN_IF_ERROR(ReadNumber(name, "a magnitude", *options[1], 0,
                                  augmentation.bins - 1,
                                  augmentation.magnitude));
  }
  if (kind == Augmentation::Kind::kTrivial) augmentation.operations = 1;
  return augmentation;
}

absl::StatusOr<ValueType> InferAugment(Augmentation::Kind kind,
                                       const std::vector<ValueType>& given) {
  const std::string_view name = NameOf(kind);
  if (given.size() < 2) return InvalidArgument("{} takes an image", name);
  const auto types = TypesOf(given);
  FM_RETURN_IF_ERROR(
      ReadAugmentation(kind, std::span(types).subspan(2)).status());
  const ValueType& image = given[1];
  if (image.dtype != DType::kUInt8 || image.shape.size() < 3 ||
      (image.shape.back() != 3 && image.shape.back() != kUnknownDim)) {
    return InvalidArgument(
        "{} takes RGB images, uint8 [height, width, 3], not {}{}", name,
        DTypeName(image.dtype), ShapeToString(image.shape));
  }
  ValueType result;
  result.dtype = image.dtype;
  result.shape = image.shape;
  return result;
}

// Augments one image in place; `scratch` is memory for another one.
void AugmentImage(const Augmentation& augmentation, const RandomBits& bits,
                  ImageSize size, std::vector<uint8_t>& scratch,
                  std::span<uint8_t> image) {
  const bool wide = augmentation.kind == Augmentation::Kind::kTrivial;
  for (int64_t k = 0; k < augmentation.operations; ++k) {
    const auto choice = Choose(augmentation, bits, k);
    if (!choice) continue;
    scratch.assign(image.begin(), image.end());
    ApplyTo(scratch.data(), size, *choice, wide ? kWideRange : MagnitudeRange{},
            augmentation.bilinear, image.data());
  }
}

absl::Status ComputeAugment(Augmentation::Kind kind,
                            std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  const auto types = TypesOf(arguments);
  FM_ASSIGN_OR_RETURN(const Augmentation augmentation,
                      ReadAugmentation(kind, std::span(types).subspan(2)));
  const Column& from = *arguments[1].column;
  const auto items =
      static_cast<size_t>(CopyRowShapes(arguments[1], rows, type, out));
  auto* to = reinterpret_cast<uint8_t*>(out.values.Extend(items));
  thread_local std::vector<uint8_t> scratch;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[1], row);
    const std::span<const uint8_t> given = from.Items<uint8_t>(from_row);
    const RowImages images(from.RowDims(from_row));
    if (images.channels != 3) {
      out.failed_row = row;
      return DataLoss("{}: {} channels instead of 3", NameOf(kind),
                      images.channels);
    }
    std::copy(given.begin(), given.end(), to);
    const auto each =
        static_cast<size_t>(images.size.height * images.size.width) * 3;
    for (int64_t n = 0; n < images.count && each > 0; ++n, to += each) {
      AugmentImage(augmentation, RandomBits(arguments[0], row), images.size,
                   scratch, {to, each});
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddAugmentingFunctions(FunctionRegistry& registry) {
  using Kind = Augmentation::Kind;
  for (const Kind kind : {Kind::kRand, Kind::kTrivial, Kind::kAuto}) {
    registry.Add(std::string(NameOf(kind)),
                 {[kind](const std::vector<ValueType>& given) {
                    return InferAugment(kind, given);
                  },
                  [kind](std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
                    return ComputeAugment(kind, arguments, rows, type, out);
                  },
                  /*heavy=*/true, /*random=*/true});
  }
  registry.Describe(
      {{"image.rand_augment", "image.trivial_augment_wide",
        "image.auto_augment"},
       "`image.rand_augment(x)`, `(x, 2, 9)`, `(x, 2, 9, 31)` "
       "`image.trivial_augment_wide(x)` `image.auto_augment(x, 'imagenet')`",
       "random; uint8 RGB: as torchvision's RandAugment with its operations, "
       "magnitude and bins (the defaults), TrivialAugmentWide, and AutoAugment "
       "with the policies 'imagenet', 'cifar10' and 'svhn'; 'bilinear' as last "
       "argument: not 'nearest'"});
}

}  // namespace feedmill
