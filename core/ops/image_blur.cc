#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/image_shapes.h"
#include "core/ops/row_items.h"

// image.gaussian_blur, defined as torchvision's.

namespace feedmill {
namespace {

constexpr std::string_view kBlur = "image.gaussian_blur";
constexpr int64_t kKernelMax = 1023;

absl::StatusOr<int64_t> KernelSize(const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const int64_t size,
      ConstantInteger("image.gaussian_blur: the kernel size", type));
  if (size >= 1 && size <= kKernelMax && size % 2 == 1) return size;
  return InvalidArgument("{}: a kernel of {}; its size is odd, 1 to {}", kBlur,
                         size, kKernelMax);
}

absl::StatusOr<ValueType> InferBlur(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kBlur, given.size(), 3));
  FM_RETURN_IF_ERROR(HeightAxis(kBlur, given[0].shape).status());
  FM_RETURN_IF_ERROR(KernelSize(given[1]).status());
  if (given[0].dtype != DType::kUInt8 && given[0].dtype != DType::kFloat32) {
    return InvalidArgument("{}: {} pixels; cast them to float32 or uint8",
                           kBlur, DTypeName(given[0].dtype));
  }
  if (given[2].dtype == DType::kBytes || !given[2].shape.empty()) {
    return InvalidArgument("{}: sigma is one number, not {}{}", kBlur,
                           DTypeName(given[2].dtype),
                           ShapeToString(given[2].shape));
  }
  ValueType result;
  result.dtype = given[0].dtype;
  result.shape = given[0].shape;
  return result;
}

// Returns the weights of a line: exp(-(x / sigma)^2), where x runs from
// -(size - 1) / sqrt(8) to the same above 0; their sum is 1.
std::vector<float> KernelOf(int64_t size, double sigma) {
  const double end = static_cast<double>(size - 1) / (2 * std::sqrt(2.0));
  std::vector<double> exact;
  double total = 0;
  for (int64_t k = 0; k < size; ++k) {
    const double place = size == 1 ? 0
                                   : end * (2 * static_cast<double>(k) /
                                                static_cast<double>(size - 1) -
                                            1);
    exact.push_back(std::exp(-(place / sigma) * (place / sigma)));
    total += exact.back();
  }
  std::vector<float> kernel;
  for (const double value : exact) {
    kernel.push_back(static_cast<float>(value / total));
  }
  return kernel;
}

// Returns the index within [0, size) that reflects `k`; the edge is not
// repeated. REQUIRES: -size < k < 2 size - 1.
size_t Reflected(int64_t k, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (k < 0) k = -k;
  return static_cast<size_t>(k < count ? k : 2 * (count - 1) - k);
}

// The memory of a thread, used again for the next image.
struct BlurScratch {
  std::vector<float> line;     // with reflected margins
  std::vector<float> blurred;  // along x
  std::vector<float> sums;
};

void AddWeighed(const float* from, float weight, std::vector<float>& sums) {
  for (size_t k = 0; k < sums.size(); ++k) sums[k] += weight * from[k];
}

inline void StoreBlurred(float sum, float& to) { to = sum; }
inline void StoreBlurred(float sum, uint8_t& to) {
  to = static_cast<uint8_t>(std::clamp(std::nearbyint(sum), 0.0F, 255.0F));
}

// Blurs one image along x and then along y, in float32.
template <class T>
void BlurImage(const T* from, ImageSize size, size_t channels,
               const std::vector<float>& kernel, BlurScratch& scratch, T* to) {
  const auto height = static_cast<size_t>(size.height);
  const auto width = static_cast<size_t>(size.width);
  const auto radius = static_cast<int64_t>(kernel.size() / 2);
  const size_t items = width * channels;
  scratch.line.resize((width + kernel.size() - 1) * channels);
  scratch.blurred.resize(height * items);
  for (size_t y = 0; y < height; ++y) {
    const T* const row = from + y * items;
    for (size_t x = 0; x < width + kernel.size() - 1; ++x) {
      const size_t at = Reflected(static_cast<int64_t>(x) - radius, width);
      for (size_t c = 0; c < channels; ++c) {
        scratch.line[x * channels + c] =
            static_cast<float>(row[at * channels + c]);
      }
    }
    scratch.sums.assign(items, 0);
    for (size_t k = 0; k < kernel.size(); ++k) {
      AddWeighed(&scratch.line[k * channels], kernel[k], scratch.sums);
    }
    std::copy_n(scratch.sums.data(), items, &scratch.blurred[y * items]);
  }
  for (size_t y = 0; y < height; ++y) {
    scratch.sums.assign(items, 0);
    for (size_t k = 0; k < kernel.size(); ++k) {
      const auto line = static_cast<int64_t>(y + k) - radius;
      AddWeighed(&scratch.blurred[Reflected(line, height) * items], kernel[k],
                 scratch.sums);
    }
    for (size_t k = 0; k < items; ++k) StoreBlurred(scratch.sums[k], *to++);
  }
}

template <class T>
absl::Status BlurRow(const Argument& argument, size_t row, int64_t kernel_size,
                     double sigma, T* to) {
  const Column& from = *argument.column;
  const size_t from_row = RowOf(argument, row);
  const RowImages images(from.RowDims(from_row));
  if (!(sigma > 0) || !std::isfinite(sigma)) {
    return DataLoss("{}: a sigma of {} is not above 0", kBlur, sigma);
  }
  const T* given = from.Items<T>(from_row).data();
  const int64_t each = images.size.height * images.size.width * images.channels;
  if (each == 0) return absl::OkStatus();
  if (std::min(images.size.height, images.size.width) <= kernel_size / 2) {
    return DataLoss(
        "{}: a kernel of {} for {} by {} pixels; it reaches beyond the "
        "opposite edge",
        kBlur, kernel_size, images.size.height, images.size.width);
  }
  thread_local BlurScratch scratch;
  const std::vector<float> kernel = KernelOf(kernel_size, sigma);
  for (int64_t n = 0; n < images.count; ++n, given += each, to += each) {
    BlurImage(given, images.size, static_cast<size_t>(images.channels), kernel,
              scratch, to);
  }
  return absl::OkStatus();
}

template <class T>
absl::Status BlurRows(std::span<const Argument> arguments, size_t rows,
                      int64_t kernel_size, T* to, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const double sigma = NumberAt<double>(arguments[2], row);
    const absl::Status status =
        BlurRow<T>(arguments[0], row, kernel_size, sigma, to);
    if (!status.ok()) {
      out.failed_row = row;
      return status;
    }
    to += from.RowItems(RowOf(arguments[0], row));
  }
  return absl::OkStatus();
}

absl::Status ComputeBlur(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const int64_t kernel_size,
                      KernelSize(*arguments[1].type));
  const auto items =
      static_cast<size_t>(CopyRowShapes(arguments[0], rows, type, out));
  std::byte* const to = out.values.Extend(items * ItemSize(type.dtype));
  return type.dtype == DType::kUInt8
             ? BlurRows(arguments, rows, kernel_size,
                        reinterpret_cast<uint8_t*>(to), out)
             : BlurRows(arguments, rows, kernel_size,
                        reinterpret_cast<float*>(to), out);
}

}  // namespace

void AddImageBlur(FunctionRegistry& registry) {
  registry.Add(std::string(kBlur), {InferBlur, ComputeBlur, /*heavy=*/true});
  registry.Describe(
      {{"image.gaussian_blur"},
       "`image.gaussian_blur(x, size, sigma)`",
       "uint8 or float32, which stays; a kernel of an odd constant size; sigma "
       "may be computed; edges are reflected; as torchvision's, in float32"});
}

}  // namespace feedmill
