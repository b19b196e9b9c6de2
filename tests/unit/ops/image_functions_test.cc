// Compares image.resize with OpenCV, image by image.

#include <gtest/gtest.h>

#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "core/ops/builtin_functions.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill::testing {
namespace {

struct Method {
  const char* name;
  int interpolation;
};
constexpr Method kMethods[] = {{"bilinear", cv::INTER_LINEAR},
                               {"nearest", cv::INTER_NEAREST},
                               {"area", cv::INTER_AREA},
                               {"cubic", cv::INTER_CUBIC}};

class ImageResizeTest : public ::testing::Test {
 protected:
  CallResult Resize(Column images, size_t rows, int64_t height, int64_t width,
                    const char* method) {
    return Call(registry_, "image.resize",
                {Of(std::move(images)), LiteralOf({height}), LiteralOf({width}),
                 LiteralOf({std::string(method)})},
                rows);
  }

  FunctionRegistry registry_ = BuiltinFunctions();
};

// Returns pixels with a long period.
template <class T>
std::vector<T> Pixels(size_t count) {
  std::vector<T> pixels;
  for (size_t k = 0; k < count; ++k) {
    pixels.push_back(static_cast<T>((k * 2654435761U >> 7) % 251));
  }
  return pixels;
}

// `rows` images of T, [height, width, channels], resized with every method to
// larger, smaller and equal sizes.
template <class T>
void ExpectAsOpenCv(const FunctionRegistry& registry, int depth, int height,
                    int width, int channels) {
  const size_t rows = 3;
  const int type = CV_MAKETYPE(depth, channels);
  const size_t each = static_cast<size_t>(height * width * channels);
  std::vector<T> pixels = Pixels<T>(rows * each);
  const Column images =
      ColumnOf(DTypeOf<T>(), {height, width, channels}, pixels);
  for (const Method& method : kMethods) {
    for (const auto& [h, w] : {std::pair(2, 3), std::pair(11, 9),
                               std::pair(4, 4), std::pair(height, width)}) {
      const CallResult result =
          Call(registry, "image.resize",
               {Of(images), LiteralOf({int64_t{h}}), LiteralOf({int64_t{w}}),
                LiteralOf({std::string(method.name)})},
               rows);
      ASSERT_TRUE(result.computed.ok()) << result.computed;
      EXPECT_EQ(result.column.shape, (Shape{h, w, channels}));
      const std::vector<T> got = Items<T>(result.column);
      const size_t size = static_cast<size_t>(h * w * channels);
      ASSERT_EQ(got.size(), rows * size);
      for (size_t row = 0; row < rows; ++row) {
        const cv::Mat in(height, width, type, &pixels[row * each]);
        cv::Mat want;
        cv::resize(in, want, cv::Size(w, h), 0, 0, method.interpolation);
        EXPECT_EQ(std::memcmp(&got[row * size], want.data, size * sizeof(T)), 0)
            << method.name << " of depth " << depth << " to " << h << " by "
            << w << ", row " << row;
      }
    }
  }
}

TEST_F(ImageResizeTest, EveryMethodDTypeAndSizeIsOpenCvs) {
  ExpectAsOpenCv<uint8_t>(registry_, CV_8U, 8, 6, 3);
  ExpectAsOpenCv<uint8_t>(registry_, CV_8U, 1, 1, 1);
  ExpectAsOpenCv<uint8_t>(registry_, CV_8U, 5, 7, 4);
  ExpectAsOpenCv<uint16_t>(registry_, CV_16U, 8, 6, 3);
  ExpectAsOpenCv<int16_t>(registry_, CV_16S, 8, 6, 1);
  ExpectAsOpenCv<float>(registry_, CV_32F, 8, 6, 3);
  ExpectAsOpenCv<double>(registry_, CV_64F, 7, 5, 2);
}

TEST_F(ImageResizeTest, PlanesBatchesAndRaggedRows) {
  const std::vector<uint8_t> pixels = Pixels<uint8_t>(48);
  const Column planes = ColumnOf(DType::kUInt8, {4, 6}, pixels);
  const Column batches = ColumnOf(DType::kUInt8, {2, 4, 6, 1}, pixels);
  const CallResult plane = Resize(planes, 2, 3, 5, "bilinear");
  const CallResult batch = Resize(batches, 1, 3, 5, "bilinear");
  EXPECT_EQ(plane.type.shape, (Shape{3, 5}));
  EXPECT_EQ(batch.type.shape, (Shape{2, 3, 5, 1}));
  EXPECT_EQ(Items<uint8_t>(plane.column), Items<uint8_t>(batch.column));

  const Column ragged = RaggedColumn<uint8_t>(
      DType::kUInt8, 2, {{{1, 2}, {7, 7}}, {{3, 1}, {9, 9, 9}}});
  const CallResult uniform = Resize(ragged, 2, 2, 2, "area");
  ASSERT_TRUE(uniform.computed.ok()) << uniform.computed;
  EXPECT_FALSE(uniform.column.ragged());
  EXPECT_EQ(Items<uint8_t>(uniform.column),
            (std::vector<uint8_t>{7, 7, 7, 7, 9, 9, 9, 9}));
}

TEST_F(ImageResizeTest, RefusesWhatCannotBeResized) {
  const Column image = ColumnOf(DType::kUInt8, {4, 6}, Pixels<uint8_t>(24));
  EXPECT_TRUE(absl::IsInvalidArgument(Resize(image, 1, 2, 2, "lanczos").built));
  EXPECT_TRUE(absl::IsInvalidArgument(Resize(image, 1, 0, 2, "nearest").built));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Resize(image, 1, 70000, 2, "nearest").built));
  const Column wide = ColumnOf(DType::kInt64, {4, 6}, Pixels<int64_t>(24));
  EXPECT_TRUE(absl::IsInvalidArgument(Resize(wide, 1, 2, 2, "nearest").built));
  const Column empty =
      RaggedColumn<uint8_t>(DType::kUInt8, 2, {{{1, 2}, {7, 7}}, {{0, 1}, {}}});
  const CallResult none = Resize(empty, 2, 2, 2, "nearest");
  EXPECT_TRUE(absl::IsDataLoss(none.computed));
  EXPECT_EQ(none.failed_row, 1U);
}

}  // namespace
}  // namespace feedmill::testing
