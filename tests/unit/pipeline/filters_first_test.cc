// Filters run before work of earlier steps that takes long, and crops before
// work on all pixels. The elements are the same as without that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <string>
#include <vector>

#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FiltersFirst : public ::testing::Test {
 protected:
  struct Read {
    std::vector<std::string> lines;
    absl::Status status;
  };

  Read ReadAll(const std::string& steps) const {
    const std::string yaml = "source: {" + source_ + "}\nsteps: [" + steps +
                             "]\noptions: {seed: 5}\n";
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    if (!graph.ok()) return {{}, graph.status()};
    const auto reader = LocalReader::Make(
        *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
        {});
    Read out{{}, reader.status()};
    while (out.status.ok()) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows; ++row) {
        AppendJson(**chunk, row, out.lines.emplace_back());
      }
    }
    return out;
  }

  // An on_error that skips makes all steps run as written.
  void ExpectSameInOrder(const std::string& steps) const {
    const Read moved = ReadAll(steps);
    const Read in_order = ReadAll(steps + ", {on_error: skip}");
    EXPECT_TRUE(moved.status.ok()) << steps << ": " << moved.status;
    EXPECT_TRUE(in_order.status.ok()) << steps << ": " << in_order.status;
    EXPECT_TRUE(moved.lines == in_order.lines) << steps;
    EXPECT_FALSE(moved.lines.empty()) << steps;
  }

  // Grey images of 2 x 1, named by `a`.
  void WriteImages(int count) {
    std::string csv = "a,c\n";
    for (int a = 0; a < count; ++a) {
      csv += std::to_string(a) + ",P5 2 1 255 " +
             static_cast<char>('A' + a % 26) + "z\n";
    }
    folder_.Write("a.csv", csv);
  }

  std::string source_ = "csv: {files: a.csv, fields: {a: int64, c: bytes}}";
  const TestFolder folder_;
};

TEST_F(FiltersFirst, FindNoErrorsInElementsThatTheyDrop) {
  folder_.Write("a.csv", "a,c\n1,no image\n2,P5 1 1 255 A\n");
  EXPECT_THAT(ReadAll("{decode_image: {component: c, channels: 1}}, "
                      "{filter: 'a > 1'}")
                  .lines,
              ElementsAre(R"({"a":2,"c":[[[65]]]})"));
  // This filter needs the image.
  const Read needs = ReadAll(
      "{decode_image: {component: c, channels: 1}}, {filter: 'mean(c) > 1'}");
  EXPECT_THAT(needs.lines, IsEmpty());
  EXPECT_THAT(needs.status.message(), HasSubstr("decode_image"));
  // The error is in an element that stays.
  const Read stays =
      ReadAll("{decode_image: {component: c, channels: 1}}, {filter: 'a < 2'}");
  EXPECT_THAT(stays.status.message(), HasSubstr("a.csv"));
}

TEST_F(FiltersFirst, LeaveOrderToAnOnErrorThatCounts) {
  folder_.Write("a.csv", "a,c\n1,no image\n2,P5 1 1 255 A\n");
  const std::string steps =
      "{decode_image: {component: c, channels: 1}}, {filter: 'a > 1'}";
  EXPECT_TRUE(ReadAll(steps).status.ok());
  EXPECT_THAT(
      ReadAll(steps + ", {on_error: {policy: skip, cap: 0}}").status.message(),
      HasSubstr("decode_image"));
}

TEST_F(FiltersFirst, ChangeNoElement) {
  WriteImages(500);
  const std::string decode = "{decode_image: {component: c, channels: 3}}";
  const std::string resize = "{resize: {component: c, width: 3, height: 2}}";
  ExpectSameInOrder(decode + ", {filter: 'a % 7 == 1'}");
  // All rows stay, and none.
  ExpectSameInOrder(decode + ", {filter: 'a >= 0'}, {filter: 'a < 600'}");
  ExpectSameInOrder(decode + ", {filter: 'a > 498'}, " + resize);
  ExpectSameInOrder(decode + ", " + resize +
                    ", {random_flip: {component: c}}, {map: {m: 'mean(c)', "
                    "a: 'a + 1', c: c}}, {filter: 'a % 3 == 1'}");
  // A later step reads the value that moves.
  ExpectSameInOrder(
      "{map: {a: a, c: c, d: 're_replace(c, \"z\", \"y\")'}}, "
      "{filter: 'a % 2 == 0'}, {map: {l: 'length(d)', c: c, "
      "e: 're_replace(d, \"y\", \"xx\")'}}");
  // Two filters, and random calls.
  ExpectSameInOrder(
      decode + ", {map: {a: a, c: c, r: 'random.uniform()'}}, " + resize +
      ", {filter: 'a % 2 == 0'}, {map: {c: 'cast(c, \"float32\") * "
      "random.uniform()', r: r, a: a}}, {filter: 'r < 0.5'}");
  // A flip in place of an image that another value is made of.
  ExpectSameInOrder(decode + ", " + resize +
                    ", {map: {a: a, c: c, d: 'image.resize(c, 4, 4, "
                    "\"bilinear\")'}}, {random_flip: "
                    "{component: c}}, {filter: 'a % 5 == 0'}");
  // The filter needs one of two images.
  ExpectSameInOrder("{map: {a: a, c: c, d: c}}, " + decode +
                    ", {decode_image: {component: d}}, "
                    "{filter: 'mean(d) > 80'}");
}

class CropsFirst : public FiltersFirst {
 protected:
  CropsFirst() { source_ = "images: {files: '*.jpg'}"; }

  static std::string Jpeg(int height, int width) {
    std::vector<uint8_t> pixels;
    for (int64_t k = 0; k < int64_t{3} * height * width; ++k) {
      pixels.push_back(static_cast<uint8_t>(3 * k + k / width + k * k % 17));
    }
    tjhandle handle = tjInitCompress();
    unsigned char* out = nullptr;
    unsigned long bytes = 0;  // NOLINT: TurboJPEG's type
    EXPECT_EQ(tjCompress2(handle, pixels.data(), width, 0, height, TJPF_RGB,
                          &out, &bytes, TJSAMP_420, 90, 0),
              0);
    const std::string file(reinterpret_cast<char*>(out), bytes);
    tjFree(out);
    tjDestroy(handle);
    return file;
  }
  void WritePhotos() {
    for (int k = 0; k < 20; ++k) {
      folder_.Write(std::to_string(100 + k) + ".jpg",
                    Jpeg(60 + 7 * k, 120 - 3 * k));
    }
  }
};

TEST_F(CropsFirst, ChangeNoElement) {
  WritePhotos();
  const std::string decode = "decode_image, ";
  const std::string random =
      "{map: {image: 'image.random_crop(image, 9, 13)'}}";
  const std::string normalize =
      "{map: {image: 'image.normalize(image, [120, 110, 100], [50, 60, 70])'}}";
  ExpectSameInOrder(decode + random);
  ExpectSameInOrder(decode + random + ", random_flip, " + normalize);
  ExpectSameInOrder(decode + random + ", " + normalize +
                    ", {map: {image: 'image.to_chw(image)'}}");
  ExpectSameInOrder(decode +
                    "{map: {image: 'image.to_chw(image.normalize("
                    "image.random_crop(image, 31, 7), 7, [3, 4, 5]))'}}");
  ExpectSameInOrder(decode + normalize + ", " + random + ", random_flip");
  ExpectSameInOrder(
      "{map: {image: 'image.random_resized_crop(image.decode(image), 8, 8)'}}");
  ExpectSameInOrder(decode +
                    "{map: {image: 'image.crop(image, 50, 60, 10, 3)'}}");
  ExpectSameInOrder(
      decode + "{map: {image: '1 - cast(image, float32) / 255'}}, " + random);
  ExpectSameInOrder(decode + normalize +
                    ", {map: {image: "
                    "'image.central_crop(image.flip_left_right(image * 2), 16, "
                    "16)'}}, {map: {image: 'image.to_chw(image)'}}");
  // The image, or a value made of all its pixels, has other uses.
  ExpectSameInOrder(decode +
                    "{map: {a: 'image.random_crop(image, 4, 4)', b: "
                    "'image.random_resized_crop(image, 4, 4)'}}");
  ExpectSameInOrder(decode + normalize +
                    ", {map: {a: 'image.random_crop(image, 4, 4)', b: "
                    "'mean(image)'}}");
  ExpectSameInOrder(decode +
                    "{map: {image: 'image.random_crop(image, 4, 4)', mean: "
                    "'mean(image)'}}");
  // Operands that differ from pixel to pixel, or from row to row.
  ExpectSameInOrder(decode + "{map: {image: 'image - image // 2'}}, " + random);
  ExpectSameInOrder(
      decode + "{map: {image: 'cast(image, float32) * random.uniform()'}}, " +
      random);
  ExpectSameInOrder(
      decode +
      "{batch: {size: 1}}, {map: {image: 'image.random_crop(image, "
      "9, 13)'}}");
}

TEST_F(CropsFirst, MakeOnlyThePixelsThatAreRead) {
  std::string damaged = Jpeg(400, 100);
  for (size_t at = damaged.size() - 202; at < damaged.size() - 2; at += 2) {
    damaged[at] = '\xff';  // no code has only ones
    damaged[at + 1] = '\0';
  }
  folder_.Write("1.jpg", damaged);
  const auto crop = [](int top) {
    return "{decode_image: {on_warning: fail}}, {map: {image: "
           "'image.crop(image, " +
           std::to_string(top) + ", 5, 20, 30)'}}";
  };
  EXPECT_TRUE(ReadAll(crop(0)).status.ok());
  EXPECT_FALSE(ReadAll(crop(380)).status.ok());
  // A run of the steps as written finds the damage, and counts it.
  EXPECT_THAT(ReadAll(crop(0) + ", {on_error: {policy: skip, cap: 0}}")
                  .status.message(),
              HasSubstr("decode_image"));
  // A truncated file has none of its pixels.
  folder_.Write("1.jpg", damaged.substr(0, damaged.size() - 300));
  EXPECT_THAT(ReadAll(crop(0)).status.message(), HasSubstr("truncated"));
}

}  // namespace
}  // namespace feedmill
