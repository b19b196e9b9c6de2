#include "core/operators/type_checks.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/source_types.h"
#include "core/dataset/type_inference.h"
#include "core/io/file_systems.h"

namespace feedmill {
namespace {

constexpr int64_t kPaddedItemsMax = int64_t{1} << 31;

template <class T>
bool InRange(double value) {
  // The limits of T are powers of two; the upper one minus 1.
  const double upper = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value == std::floor(value) && value < upper &&
         value >= static_cast<double>(std::numeric_limits<T>::min());
}

// True if padding of that dtype can have this value; bytes only have "",
// written 0.
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
    case DType::kBFloat16:
      return std::isfinite(value);
    case DType::kFloat16:
      return std::isfinite(float{Float16(value)});
    case DType::kBytes:
      return value == 0;
  }
  return false;
}

}  // namespace

std::string TypeText(const ComponentSpec& component) {
  return fmt::format("{}{}", TypeName(component.dtype, component.logical),
                     ShapeToString(component.shape));
}

std::string NameOrX(const ComponentSpec& component) {
  return component.name.empty() ? "x" : component.name;
}

std::string Shortened(std::string text) {
  constexpr size_t kShown = 60;
  if (text.size() <= kShown) return text;
  text.resize(kShown);
  return text.append("…");
}

absl::Status CheckCount(int64_t count) {
  if (count >= 0) return absl::OkStatus();
  return InvalidArgument("the count must not be negative, it is {}", count);
}

absl::Status CheckSize(std::string_view what, int64_t size) {
  if (size >= 1 && size <= kBatchSizeMax) return absl::OkStatus();
  return InvalidArgument("{} must be 1 to {}, not {}", what, kBatchSizeMax,
                         size);
}

absl::Status CheckWritten(const std::string& folder, std::string_view what) {
  const std::string_view scheme = SchemeOf(folder);
  if (scheme != "http" && scheme != "https" && scheme != "file") {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "{} is not written to {}://; name a path, or a folder of s3://, gs:// or "
      "az://, not {}",
      what, scheme, folder);
}

absl::StatusOr<size_t> FindImage(const std::string& name,
                                 const StepInput& input) {
  FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(input.spec, name));
  const ComponentSpec& in = input.spec.components[c];
  if (in.shape.size() != input.batches + 3) {
    return InvalidArgument(
        "it needs an image [height, width, channels] for each record; {} is "
        "{}{}",
        NameOrX(in), TypeText(in),
        in.dtype == DType::kBytes ? "; decode_image makes one of bytes" : "");
  }
  return c;
}

absl::Status CheckLengthComponent(const std::string& component,
                                  const ElementSpec& spec) {
  FM_ASSIGN_OR_RETURN(const size_t c, FindComponent(spec, component));
  const ComponentSpec& in = spec.components[c];
  if (!in.shape.empty() || in.dtype == DType::kBytes || IsInteger(in.dtype)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "the length of an element is its component's first dimension, or an "
      "integer; {} is {}",
      NameOrX(in), TypeText(in));
}

absl::Status CheckPadding(const std::vector<Padding>& padding,
                          const ElementSpec& spec) {
  if (padding.size() > spec.components.size()) {
    return InvalidArgument(
        "there is padding for {} components, and the element has {}",
        padding.size(), spec.components.size());
  }
  for (size_t k = 0; k < padding.size(); ++k) {
    FM_ASSIGN_OR_RETURN(const size_t c,
                        FindComponent(spec, padding[k].component));
    const ComponentSpec& in = spec.components[c];
    for (size_t j = 0; j < k; ++j) {
      if (padding[j].component == padding[k].component) {
        return InvalidArgument("there are two paddings of {}",
                               padding[k].component);
      }
    }
    if (!HoldsNumber(in.dtype, padding[k].value)) {
      return InvalidArgument("{} cannot be padded with {}: it is {}",
                             NameOrX(in), padding[k].value,
                             DTypeName(in.dtype));
    }
    if (!padding[k].shape) continue;
    const Shape& shape = *padding[k].shape;
    bool fits = shape.size() == in.shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      fits = shape[d] >= kUnknownDim && shape[d] <= kPaddedItemsMax &&
             (shape[d] == kUnknownDim || in.shape[d] == kUnknownDim ||
              shape[d] >= in.shape[d]);
    }
    if (!fits) {
      return InvalidArgument("{} is {}, which cannot be padded to {}",
                             NameOrX(in), TypeText(in), ShapeToString(shape));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementSpec> BatchedSpec(const ElementSpec& spec, int64_t size,
                                        BatchLayout layout,
                                        const std::vector<Padding>& padding) {
  FM_RETURN_IF_ERROR(CheckPadding(padding, spec));
  ElementSpec out;
  bool ragged = false;
  for (size_t k = 0; k < spec.components.size(); ++k) {
    const ComponentSpec& in = spec.components[k];
    ComponentSpec c = in;
    if (layout == BatchLayout::kRagged && !in.shape.empty()) {
      // The offsets would part the values from their validity.
      if (MayBeNull(std::span(spec.components), k)) {
        return InvalidArgument(
            "it joins no arrays with nulls, and values of \"{}\" may be null; "
            "give them a value first: with_columns: {{{}: \"fill_null({}, "
            "0)\"}}",
            in.name, in.name, in.name);
      }
      ragged = true;
      c.name = NameOrX(in);
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
        spec.ToString());
  }
  for (ComponentSpec& c : out.components) c.name = NameOrX(c);
  FM_RETURN_IF_ERROR(CheckComponentNames(out));
  return out;
}

absl::StatusOr<ElementSpec> UnbatchedSpec(ElementSpec out) {
  for (ComponentSpec& c : out.components) {
    if (c.shape.empty()) {
      return InvalidArgument(
          "it makes an element of each row along the first axis; {} is {}, "
          "which has no axis",
          NameOrX(c), TypeText(c));
    }
    c.shape.erase(c.shape.begin());
  }
  return out;
}

}  // namespace feedmill
