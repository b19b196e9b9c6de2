#include "core/dataset/step_types.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"

namespace feedmill {
namespace {

constexpr int64_t kBatchSizeMax = int64_t{1} << 32;
constexpr int64_t kImageSideMax = 65'535;  // JPEG's own bound
constexpr int64_t kFeatureItemsMax = int64_t{1} << 31;

std::string TypeText(const ComponentSpec& component) {
  return fmt::format("{}{}", DTypeName(component.dtype),
                     ShapeToString(component.shape));
}

std::string Named(const ComponentSpec& component) {
  return component.name.empty() ? "x" : component.name;
}

class StepTyper {
 public:
  StepTyper(const ElementSpec& input, size_t batches_before,
            const FunctionRegistry& registry)
      : input_(input), batches_(batches_before), registry_(registry) {}

  using Result = absl::StatusOr<ElementSpec>;

  Result operator()(const MapStep& step) const {
    ElementSpec out;
    for (const auto& [name, expr] : step.outputs) {
      FM_ASSIGN_OR_RETURN(ValueType type, InferType(expr, input_, registry_));
      if (type.list.has_value()) {
        return InvalidArgument(
            "\"{}\" is a list, which is no value; use "
            "full(shape, value)",
            expr.ToString());
      }
      out.components.push_back({name, type.dtype, type.shape});
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const FilterStep& step) const {
    FM_ASSIGN_OR_RETURN(ValueType type,
                        InferType(step.predicate, input_, registry_));
    if (type.list.has_value() || type.dtype != DType::kBool ||
        !type.shape.empty()) {
      return InvalidArgument(
          "the predicate must be one bool for an element, \"{}\" is {}{}; "
          "compare, or reduce with any(…) or all(…)",
          step.predicate.ToString(), DTypeName(type.dtype),
          ShapeToString(type.shape));
    }
    return input_;
  }

  Result operator()(const ParseExampleStep& step) const {
    if (input_.components.size() != 1 ||
        input_.components[0].dtype != DType::kBytes ||
        input_.components[0].shape.size() != batches_) {
      return InvalidArgument(
          "it needs a single component of bytes, a tf.train.Example for each "
          "record; here the element is {}",
          input_.ToString());
    }
    ElementSpec out;
    for (const ParseExampleStep::Feature& feature : step.features) {
      if (feature.name.empty()) {
        return InvalidArgument("a feature has no name");
      }
      FM_RETURN_IF_ERROR(CheckFeature(feature));
      Shape shape = input_.components[0].shape;
      shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
      out.components.push_back({feature.name, feature.dtype, std::move(shape)});
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const DecodeImageStep& step) const {
    if (step.channels != 1 && step.channels != 3) {
      return InvalidArgument("channels must be 3 (colour) or 1 (grey), not {}",
                             step.channels);
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(input_, step.component));
    const ComponentSpec& in = input_.components[c];
    if (in.dtype != DType::kBytes || in.shape.size() != batches_) {
      return InvalidArgument(
          "it needs one encoded image for each record; "
          "{} is {}",
          Named(in), TypeText(in));
    }
    ElementSpec out = input_;
    out.components[c].dtype = DType::kUInt8;
    Shape& shape = out.components[c].shape;
    shape.insert(shape.end(), {kUnknownDim, kUnknownDim, step.channels});
    return out;
  }

  Result operator()(const ResizeStep& step) const {
    for (const int64_t side : {step.height, step.width}) {
      if (side < 1 || side > kImageSideMax) {
        return InvalidArgument("height and width must be 1 to {}, not {}",
                               kImageSideMax, side);
      }
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindImage(step.component));
    if (input_.components[c].dtype != DType::kUInt8) {
      return InvalidArgument("it needs uint8, {} is {}",
                             Named(input_.components[c]),
                             TypeText(input_.components[c]));
    }
    ElementSpec out = input_;
    Shape& shape = out.components[c].shape;
    shape[batches_] = step.height;
    shape[batches_ + 1] = step.width;
    return out;
  }

  Result operator()(const RandomFlipStep& step) const {
    if (!(step.probability >= 0 && step.probability <= 1)) {
      return InvalidArgument("probability must be 0 to 1, not {}",
                             step.probability);
    }
    FM_ASSIGN_OR_RETURN(const size_t c, FindImage(step.component));
    if (input_.components[c].dtype == DType::kBytes) {
      return InvalidArgument("it needs numbers, {} is {}",
                             Named(input_.components[c]),
                             TypeText(input_.components[c]));
    }
    return input_;
  }

  Result operator()(const ShuffleStep&) const { return input_; }

  Result operator()(const BatchStep& step) const {
    if (step.size < 1 || step.size > kBatchSizeMax) {
      return InvalidArgument("size must be 1 to {}, not {}", kBatchSizeMax,
                             step.size);
    }
    ElementSpec out = input_;
    for (ComponentSpec& component : out.components) {
      component.shape.insert(component.shape.begin(),
                             step.drop_remainder ? step.size : kUnknownDim);
    }
    return out;
  }

  Result operator()(const RepeatStep& step) const {
    if (step.count.has_value()) FM_RETURN_IF_ERROR(CheckCount(*step.count));
    return input_;
  }
  Result operator()(const TakeStep& step) const {
    FM_RETURN_IF_ERROR(CheckCount(step.count));
    return input_;
  }
  Result operator()(const SkipStep& step) const {
    FM_RETURN_IF_ERROR(CheckCount(step.count));
    return input_;
  }

 private:
  static absl::Status CheckCount(int64_t count) {
    if (count >= 0) return absl::OkStatus();
    return InvalidArgument("the count must not be negative, it is {}", count);
  }

  static absl::Status CheckFeature(const ParseExampleStep::Feature& feature) {
    if (feature.dtype != DType::kBytes && feature.dtype != DType::kInt64 &&
        feature.dtype != DType::kFloat32) {
      return InvalidArgument(
          "a tf.train.Example holds bytes, int64 and "
          "float32; {} is {} (cast it in a map)",
          feature.name, DTypeName(feature.dtype));
    }
    int64_t items = 1;
    for (int64_t dim : feature.shape) {
      if (dim < 0 || __builtin_mul_overflow(items, dim, &items) ||
          items > kFeatureItemsMax) {
        return InvalidArgument("the shape {} of {} does not fit",
                               ShapeToString(feature.shape), feature.name);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> FindImage(const std::string& name) const {
    FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(input_, name));
    const ComponentSpec& in = input_.components[c];
    if (in.shape.size() != batches_ + 3) {
      return InvalidArgument(
          "it needs an image [height, width, channels] for each record; {} is "
          "{}{}",
          Named(in), TypeText(in),
          in.dtype == DType::kBytes ? "; decode_image makes one of bytes" : "");
    }
    return c;
  }

  const ElementSpec& input_;
  const size_t batches_;
  const FunctionRegistry& registry_;
};

}  // namespace

absl::StatusOr<ElementSpec> StepOutput(const Step& step,
                                       const ElementSpec& input,
                                       size_t batches_before,
                                       const FunctionRegistry& registry) {
  return std::visit(StepTyper(input, batches_before, registry), step);
}

}  // namespace feedmill
