#include "core/dataset/step_types.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
constexpr int64_t kPackLengthMax = int64_t{1} << 31;
constexpr int64_t kPackBinsMax = int64_t{1} << 20;

std::string TypeText(const ComponentSpec& component) {
  return fmt::format("{}{}", DTypeName(component.dtype),
                     ShapeToString(component.shape));
}

std::string Named(const ComponentSpec& component) {
  return component.name.empty() ? "x" : component.name;
}

template <class T>
bool InRange(double value) {
  // The bounds of T are powers of two, but for the 1 below the upper.
  const double upper = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value == std::floor(value) && value < upper &&
         value >= static_cast<double>(std::numeric_limits<T>::min());
}

// Whether a padding of that value can be: bytes have only "", written 0.
bool HoldsNumber(DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return value == 0 || value == 1;
    case DType::kInt8:
      return InRange<int8_t>(value);
    case DType::kInt16:
      return InRange<int16_t>(value);
    case DType::kInt32:
      return InRange<int32_t>(value);
    case DType::kInt64:
      return InRange<int64_t>(value);
    case DType::kUInt8:
      return InRange<uint8_t>(value);
    case DType::kUInt16:
      return InRange<uint16_t>(value);
    case DType::kUInt32:
      return InRange<uint32_t>(value);
    case DType::kUInt64:
      return InRange<uint64_t>(value);
    case DType::kFloat32:
    case DType::kFloat64:
      return std::isfinite(value);
    case DType::kBytes:
      return value == 0;
  }
  return false;
}

class StepTyper {
 public:
  StepTyper(const ElementSpec& input, size_t batches_before,
            const FunctionRegistry& registry)
      : input_(input), batches_(batches_before), registry_(registry) {}

  using Result = absl::StatusOr<ElementSpec>;

  Result operator()(const MapStep& step) const { return Mapped(step.outputs); }

  Result operator()(const FlatMapStep& step) const {
    FM_ASSIGN_OR_RETURN(const ElementSpec mapped, Mapped(step.outputs));
    if (mapped.components.empty()) {
      return InvalidArgument("it needs an expression");
    }
    return Unbatched(mapped);
  }

  Result Mapped(
      const std::vector<std::pair<std::string, Expr>>& outputs) const {
    ElementSpec out;
    for (const auto& [name, expr] : outputs) {
      FM_ASSIGN_OR_RETURN(ValueType type, InferType(expr, input_, registry_));
      if (type.list.has_value()) {
        return InvalidArgument(
            "\"{}\" is a list, and a component is an array; use full(shape, "
            "value)",
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
    FM_RETURN_IF_ERROR(CheckMessages("tf.train.Example"));
    ElementSpec out;
    for (const ParseExampleStep::Feature& feature : step.features) {
      FM_RETURN_IF_ERROR(AddFeature(feature, false, out));
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const ParseSequenceExampleStep& step) const {
    FM_RETURN_IF_ERROR(CheckMessages("tf.train.SequenceExample"));
    ElementSpec out;
    for (const ParseExampleStep::Feature& feature : step.context) {
      FM_RETURN_IF_ERROR(AddFeature(feature, false, out));
    }
    for (const ParseExampleStep::Feature& feature : step.sequence) {
      FM_RETURN_IF_ERROR(AddFeature(feature, true, out));
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const OnErrorStep& step) const {
    const bool skip = step.policy == OnErrorStep::Policy::kSkip;
    if (!skip && (step.cap || !step.quarantine.empty())) {
      return InvalidArgument("cap and quarantine need `policy: skip`");
    }
    if (step.cap) FM_RETURN_IF_ERROR(CheckCount(*step.cap));
    return input_;
  }

  Result operator()(const CacheStep& step) const {
    if (!step.memory_bytes) return input_;
    if (!step.path.empty()) {
      return InvalidArgument(
          "memory_bytes bounds a cache in memory, and this cache is in {}; "
          "leave out memory_bytes or the folder",
          step.path);
    }
    FM_RETURN_IF_ERROR(CheckCount(*step.memory_bytes));
    return input_;
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

  Result operator()(const ShuffleStep& step) const {
    if (step.window) FM_RETURN_IF_ERROR(CheckSize("window", *step.window));
    if (step.block) FM_RETURN_IF_ERROR(CheckSize("block", *step.block));
    if (step.files && (step.window || step.block)) {
      return InvalidArgument(
          "`files: true` shuffles whole files, without a window or block; "
          "write a second shuffle for those");
    }
    return input_;
  }

  Result operator()(const BatchStep& step) const {
    FM_RETURN_IF_ERROR(CheckSize("size", step.size));
    return Batched(step.drop_remainder ? step.size : kUnknownDim, step.layout,
                   step.padding);
  }

  Result operator()(const UnbatchStep&) const { return Unbatched(input_); }

  Result operator()(const RebatchStep& step) const {
    FM_RETURN_IF_ERROR(CheckSize("size", step.size));
    FM_ASSIGN_OR_RETURN(ElementSpec out, Unbatched(input_));
    for (ComponentSpec& c : out.components) {
      c.shape.insert(c.shape.begin(),
                     step.drop_remainder ? step.size : kUnknownDim);
    }
    return out;
  }

  Result operator()(const WindowStep& step) const {
    FM_RETURN_IF_ERROR(CheckSize("size", step.size));
    FM_RETURN_IF_ERROR(CheckSize("stride", step.stride));
    if (step.shift != 0) FM_RETURN_IF_ERROR(CheckSize("shift", step.shift));
    if ((step.size - 1) > kBatchSizeMax / step.stride) {
      return InvalidArgument("a window spans at most {} elements",
                             kBatchSizeMax);
    }
    return Batched(step.drop_remainder ? step.size : kUnknownDim,
                   BatchLayout::kEqual, {});
  }

  Result operator()(const BucketBySequenceLengthStep& step) const {
    FM_RETURN_IF_ERROR(CheckLength(step.component));
    for (size_t k = 0; k < step.boundaries.size(); ++k) {
      if (step.boundaries[k] <= (k == 0 ? 0 : step.boundaries[k - 1])) {
        return InvalidArgument(
            "boundaries must be above 0 and increase; {} breaks this",
            step.boundaries[k]);
      }
    }
    if (step.batch_sizes.size() != step.boundaries.size() + 1) {
      return InvalidArgument(
          "{} boundaries make {} buckets, which need as many batch_sizes, not "
          "{}",
          step.boundaries.size(), step.boundaries.size() + 1,
          step.batch_sizes.size());
    }
    bool same = true;
    for (const int64_t size : step.batch_sizes) {
      FM_RETURN_IF_ERROR(CheckSize("each of batch_sizes", size));
      same = same && size == step.batch_sizes[0];
    }
    return Batched(
        step.drop_remainder && same ? step.batch_sizes[0] : kUnknownDim,
        BatchLayout::kPadded, step.padding);
  }

  Result operator()(const TokenBatchStep& step) const {
    FM_RETURN_IF_ERROR(CheckLength(step.component));
    FM_RETURN_IF_ERROR(CheckSize("tokens", step.tokens));
    if (step.layout == BatchLayout::kRagged && !step.padding.empty()) {
      return InvalidArgument("a ragged layout has no padding");
    }
    return Batched(kUnknownDim, step.layout, step.padding);
  }

  Result operator()(const PackStep& step) const {
    FM_RETURN_IF_ERROR(CheckSize("length", step.length));
    if (step.length > kPackLengthMax) {
      return InvalidArgument("length must be at most {}, not {}",
                             kPackLengthMax, step.length);
    }
    FM_RETURN_IF_ERROR(CheckSize("bins", step.bins));
    if (step.bins > kPackBinsMax) {
      return InvalidArgument("bins must be at most {}, not {}", kPackBinsMax,
                             step.bins);
    }
    FM_RETURN_IF_ERROR(CheckPadding(step.padding));
    ElementSpec out = input_;
    for (ComponentSpec& c : out.components) {
      if (c.shape.empty()) {
        return InvalidArgument(
            "it joins sequences along their first axis; {} is {}, which has no "
            "axis",
            Named(c), TypeText(c));
      }
      c.name = Named(c);
      c.shape[0] = step.length;
    }
    for (const Padding& p : step.padding) {
      if (p.shape)
        return InvalidArgument("it pads to `length`; leave out shapes");
    }
    out.components.push_back({"segment_ids", DType::kInt32, {step.length}});
    out.components.push_back({"positions", DType::kInt32, {step.length}});
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const ShardStep& step) const {
    if (step.count < 1) {
      return InvalidArgument("the count must be 1 or more, it is {}",
                             step.count);
    }
    if (step.index < 0 || step.index >= step.count) {
      return InvalidArgument("the index must be 0 to {}, it is {}",
                             step.count - 1, step.index);
    }
    return input_;
  }

  Result operator()(const EnumerateStep& step) const {
    if (step.component.empty()) {
      return InvalidArgument(
          "the component that holds the numbers needs a name");
    }
    ElementSpec out;
    out.components.push_back({step.component, DType::kInt64, {}});
    // A number for each element of batches is one for the batch.
    for (const ComponentSpec& c : input_.components) {
      out.components.push_back({Named(c), c.dtype, c.shape});
    }
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  Result operator()(const RepeatStep& step) const {
    if (step.count.value_or(0) < 0) {
      return InvalidArgument(
          "the count must not be negative, it is {}; `repeat:` alone repeats "
          "without end",
          *step.count);
    }
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

  static absl::Status CheckSize(std::string_view what, int64_t size) {
    if (size >= 1 && size <= kBatchSizeMax) return absl::OkStatus();
    return InvalidArgument("{} must be 1 to {}, not {}", what, kBatchSizeMax,
                           size);
  }

  absl::Status CheckLength(const std::string& component) const {
    FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(input_, component));
    const ComponentSpec& in = input_.components[c];
    if (!in.shape.empty() || in.dtype == DType::kBytes || IsInteger(in.dtype)) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "the length of an element is its component's first dimension, or an "
        "integer; {} is {}",
        Named(in), TypeText(in));
  }

  absl::Status CheckPadding(const std::vector<Padding>& padding) const {
    if (padding.size() > input_.components.size()) {
      return InvalidArgument(
          "there is padding for {} components, and the element has {}",
          padding.size(), input_.components.size());
    }
    for (size_t k = 0; k < padding.size(); ++k) {
      FM_ASSIGN_OR_RETURN(const size_t c,
                          FindComponent(input_, padding[k].component));
      const ComponentSpec& in = input_.components[c];
      for (size_t j = 0; j < k; ++j) {
        if (padding[j].component == padding[k].component) {
          return InvalidArgument("the padding of {} is there twice",
                                 padding[k].component);
        }
      }
      if (!HoldsNumber(in.dtype, padding[k].value)) {
        return InvalidArgument("{} cannot be padded with {}: it is {}",
                               Named(in), padding[k].value,
                               DTypeName(in.dtype));
      }
      if (!padding[k].shape) continue;
      const Shape& shape = *padding[k].shape;
      bool fits = shape.size() == in.shape.size();
      for (size_t d = 0; fits && d < shape.size(); ++d) {
        fits = shape[d] >= kUnknownDim && shape[d] <= kFeatureItemsMax &&
               (shape[d] == kUnknownDim || in.shape[d] == kUnknownDim ||
                shape[d] >= in.shape[d]);
      }
      if (!fits) {
        return InvalidArgument("{} is {}, which cannot be padded to {}",
                               Named(in), TypeText(in), ShapeToString(shape));
      }
    }
    return absl::OkStatus();
  }

  Result Batched(int64_t size, BatchLayout layout,
                 const std::vector<Padding>& padding) const {
    FM_RETURN_IF_ERROR(CheckPadding(padding));
    ElementSpec out;
    bool ragged = false;
    for (const ComponentSpec& in : input_.components) {
      ComponentSpec c = in;
      if (layout == BatchLayout::kRagged && !in.shape.empty()) {
        ragged = true;
        c.name = Named(in);
        c.shape[0] = kUnknownDim;
        out.components.push_back(c);
        out.components.push_back(
            {c.name + "_offsets",
             DType::kInt64,
             {size == kUnknownDim ? kUnknownDim : size + 1}});
        continue;
      }
      for (const Padding& p : padding) {
        if (!p.shape || (p.component != in.name && !in.name.empty())) continue;
        for (size_t d = 0; d < c.shape.size(); ++d) {
          if ((*p.shape)[d] != kUnknownDim) c.shape[d] = (*p.shape)[d];
        }
      }
      c.shape.insert(c.shape.begin(), size);
      out.components.push_back(std::move(c));
    }
    if (layout != BatchLayout::kRagged) return out;
    if (!ragged) {
      return InvalidArgument(
          "it joins rows along their first axis, and {} has no axis; use batch",
          input_.ToString());
    }
    for (ComponentSpec& c : out.components) c.name = Named(c);
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }

  static Result Unbatched(ElementSpec out) {
    for (ComponentSpec& c : out.components) {
      if (c.shape.empty()) {
        return InvalidArgument(
            "it makes an element of each row along the first axis; {} is {}, "
            "which has no axis",
            Named(c), TypeText(c));
      }
      c.shape.erase(c.shape.begin());
    }
    return out;
  }

  absl::Status CheckMessages(std::string_view message) const {
    if (input_.components.size() == 1 &&
        input_.components[0].dtype == DType::kBytes &&
        input_.components[0].shape.size() == batches_) {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "it needs a single component of bytes, a {} for each record; here the "
        "element is {}",
        message, input_.ToString());
  }

  // `listed`: each step of a list has one.
  absl::Status AddFeature(const ParseExampleStep::Feature& feature, bool listed,
                          ElementSpec& out) const {
    if (feature.name.empty()) return InvalidArgument("a feature has no name");
    FM_RETURN_IF_ERROR(CheckFeature(feature, listed));
    Shape shape = input_.components[0].shape;
    if (listed) shape.push_back(kUnknownDim);
    shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
    out.components.push_back({feature.name, feature.dtype, std::move(shape)});
    return absl::OkStatus();
  }

  static absl::Status CheckFeature(const ParseExampleStep::Feature& feature,
                                   bool listed) {
    if (feature.dtype != DType::kBytes && feature.dtype != DType::kInt64 &&
        feature.dtype != DType::kFloat32) {
      return InvalidArgument(
          "a tf.train.Example holds bytes, int64 and "
          "float32; {} is {} (cast it in a map)",
          feature.name, DTypeName(feature.dtype));
    }
    int64_t items = 1;
    for (size_t k = 0; k < feature.shape.size(); ++k) {
      int64_t dim = feature.shape[k];
      if (dim == kUnknownDim && listed) {
        return InvalidArgument(
            "all steps of the feature list {} must have one known shape, and "
            "{} is not one",
            feature.name, ShapeToString(feature.shape));
      }
      // As many as there are values for.
      if (dim == kUnknownDim && k == 0) dim = 1;
      if (dim < 0 || (dim == 0 && feature.shape[0] == kUnknownDim) ||
          __builtin_mul_overflow(items, dim, &items) ||
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
