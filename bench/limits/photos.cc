// Compute limit of the photo pipeline: reads every file, decodes it with the
// fast DCT and resizes it with OpenCV into a batch of 32, on all cores. No
// plan, no order, no service.
//
//   limit_photos DIR REPEATS     DIR/*/*.jpg

#include <fcntl.h>
#include <omp.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "bench/process_usage.h"

namespace {

constexpr int kSide = 224;
constexpr long kBatch = 32;
constexpr size_t kImageBytes = size_t{kSide} * kSide * 3;

void ReadFile(const std::string& path, std::vector<uint8_t>& bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  fstat(fd, &info);
  bytes.resize(static_cast<size_t>(info.st_size));
  if (read(fd, bytes.data(), bytes.size()) < 0) std::abort();
  close(fd);
}

struct Thread {
  tjhandle handle = tjInitDecompress();
  std::vector<uint8_t> file, pixels = std::vector<uint8_t>(4000 * 3000);
  std::vector<uint8_t> batch = std::vector<uint8_t>(kBatch * kImageBytes);

  unsigned long OneBatch(const std::vector<std::string>& files,
                         long batch_index) {
    for (long k = 0; k < kBatch; ++k) {
      const size_t at =
          static_cast<size_t>(batch_index * kBatch + k) % files.size();
      ReadFile(files[at], file);
      int w = 0, h = 0, subsampling = 0, colorspace = 0;
      tjDecompressHeader3(handle, file.data(), file.size(), &w, &h,
                          &subsampling, &colorspace);
      tjDecompress2(handle, file.data(), file.size(), pixels.data(), w, 0, h,
                    TJPF_RGB, TJFLAG_FASTDCT);
      cv::Mat from(h, w, CV_8UC3, pixels.data());
      cv::Mat to(kSide, kSide, CV_8UC3,
                 batch.data() + static_cast<size_t>(k) * kImageBytes);
      cv::resize(from, to, cv::Size(kSide, kSide), 0, 0, cv::INTER_LINEAR);
    }
    return batch[77] + batch[batch.size() - 1];
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: limit_photos DIR REPEATS\n"), 2;
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.path().extension() == ".jpg")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (files.empty())
    return std::fprintf(stderr, "limit_photos: no .jpg below %s\n", argv[1]), 2;
  const long batches =
      static_cast<long>(files.size()) * std::atol(argv[2]) / kBatch;
  cv::setNumThreads(0);
  const auto start = std::chrono::steady_clock::now();
  unsigned long sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    Thread thread;
#pragma omp for schedule(dynamic, 1)
    for (long b = 0; b < batches; ++b) sum += thread.OneBatch(files, b);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::printf(
      "{\"elements\": %ld, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%lu}\n",
      batches * kBatch, seconds, feedmill::bench::CpuSeconds(), sum);
  return 0;
}
