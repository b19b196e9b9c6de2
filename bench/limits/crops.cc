// Limit by hand of the ImageNet recipe on one core. Each photo is read, and
// only the pixels of a random crop are decoded (libjpeg-turbo's crop and skip).
// The crop is resized with OpenCV, and half of them are mirrored. Normalised
// floats go, channels first, into the memory of one batch of 64. No plan, no
// order, no service.
//
//   limit_crops DIR REPEATS [whole]     DIR/*/*.jpg; whole: decodes all pixels

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

// It needs declarations of <cstdio>.
#include <jpeglib.h>

#include "bench/process_usage.h"

namespace {

constexpr int kSide = 224;
constexpr size_t kBatch = 64;
constexpr size_t kPlane = size_t{kSide} * kSide;

struct Worker {
  explicit Worker(bool whole_image) : whole(whole_image) {
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
  }
  ~Worker() { jpeg_destroy_decompress(&info); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // torchvision's RandomResizedCrop.
  cv::Rect Box(int height, int width) {
    std::uniform_real_distribution<double> unit;
    for (int t = 0; t < 10; ++t) {
      const double area = height * width * (0.08 + 0.92 * unit(random));
      const double ratio =
          std::exp(std::log(0.75) + std::log(16.0 / 9) * unit(random));
      const int w = static_cast<int>(std::lrint(std::sqrt(area * ratio)));
      const int h = static_cast<int>(std::lrint(std::sqrt(area / ratio)));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      const auto below = [&](int n) {
        return static_cast<int>(unit(random) * (n + 1));
      };
      return {below(width - w), below(height - h), w, h};
    }
    return {0, 0, width, height};
  }

  void One(const std::string& path, float* to) {
    std::ifstream in(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()),
                 file.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_EXT_RGB;
    jpeg_start_decompress(&info);
    cv::Rect box = Box(static_cast<int>(info.output_height),
                       static_cast<int>(info.output_width));
    JDIMENSION left = 0;
    if (!whole) {
      left = static_cast<JDIMENSION>(std::max(0, box.x - 2));
      JDIMENSION width =
          std::min(info.output_width,
                   static_cast<JDIMENSION>(box.x + box.width + 2)) -
          left;
      jpeg_crop_scanline(&info, &left, &width);
      jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(box.y));
    }
    const size_t line = size_t{info.output_width} * 3;
    const auto first = info.output_scanline;
    const auto end = whole ? info.output_height
                           : static_cast<JDIMENSION>(box.y + box.height);
    pixels.resize((end - first) * line);
    while (info.output_scanline < end) {
      JSAMPROW row = pixels.data() + (info.output_scanline - first) * line;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_abort_decompress(&info);
    box.x -= static_cast<int>(left);
    box.y -= static_cast<int>(first);
    const cv::Mat decoded(static_cast<int>(end - first),
                          static_cast<int>(line / 3), CV_8UC3, pixels.data());
    cv::resize(decoded(box), small, cv::Size(kSide, kSide), 0, 0,
               cv::INTER_LINEAR);
    Normalise((random() & 1U) != 0, to);
  }

  void Normalise(bool mirror, float* to) const {
    constexpr float kMean[] = {123.7F, 116.3F, 103.5F};
    constexpr float kDeviation[] = {58.4F, 57.1F, 57.4F};
    for (int y = 0; y < kSide; ++y) {
      const uint8_t* const row = small.ptr<uint8_t>(y);
      for (size_t c = 0; c < 3; ++c) {
        float* const out = to + c * kPlane + static_cast<size_t>(y) * kSide;
        for (size_t x = 0; x < kSide; ++x) {
          const size_t at = mirror ? kSide - 1 - x : x;
          out[x] =
              (static_cast<float>(row[at * 3 + c]) - kMean[c]) / kDeviation[c];
        }
      }
    }
  }

  const bool whole;
  jpeg_error_mgr errors{};
  jpeg_decompress_struct info{};
  std::string file;
  std::vector<uint8_t> pixels;
  cv::Mat small;
  std::mt19937 random{7};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: limit_crops DIR REPEATS [whole]\n"), 2;
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.path().extension() == ".jpg")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (files.empty())
    return std::fprintf(stderr, "limit_crops: no .jpg below %s\n", argv[1]), 2;
  cv::setNumThreads(0);
  const size_t images = files.size() * static_cast<size_t>(std::atol(argv[2]));
  std::vector<float> batch(kBatch * 3 * kPlane);
  Worker worker(argc > 3);
  double sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (size_t k = 0; k < images; ++k) {
    worker.One(files[k % files.size()], &batch[k % kBatch * 3 * kPlane]);
    if (k % kBatch == kBatch - 1) sum += batch[77] + batch.back();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::printf(
      "{\"elements\": %zu, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%.3f}\n",
      images, seconds, feedmill::bench::CpuSeconds(), sum);
  return 0;
}
