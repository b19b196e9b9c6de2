// A trainer's input loop: two epochs of photos, each in its own order. The
// service's workers decode, resize, flip and batch them; the loop receives
// finished batches.
//
//   train_loop PHOTO_DIR [--service tcp://HOST:PORT] [--sheet FILE.png]
//
// Without --service the same pipeline runs in this process and gives the same
// batches in the same order.

#include <png.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/chunk/order_hash.h"
#include "feedmill/dataset.h"
#include "feedmill/loader.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSide = 224, kBatch = 32, kEpochs = 2;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

feedmill::Dataset Photos(const std::string& directory) {
  return feedmill::Dataset::Images({directory + "/*/*.jpg"})
      .Shuffle()
      .DecodeImage({.dct = feedmill::DecodeImageStep::Dct::kFast})
      .Resize(kSide, kSide)
      .RandomFlip()
      .Batch(kBatch)
      .WithSeed(7);
}

// On a terminal, redraws a progress line in place.
void ShowProgress(size_t photos, double seconds) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%6zu photos  %6.0f photos/s", photos,
               static_cast<double>(photos) / seconds);
  std::fflush(stderr);
}

// Writes the images of one batch, kSide x kSide x 3 each, eight per row.
bool WriteContactSheet(const std::vector<uint8_t>& images,
                       const std::string& path) {
  const size_t count = images.size() / (size_t{kSide} * kSide * 3);
  const size_t side = kSide, columns = 8,
               rows = (count + columns - 1) / columns;
  std::vector<uint8_t> sheet(columns * rows * side * side * 3, 255);
  for (size_t k = 0; k < count; ++k) {
    for (size_t y = 0; y < side; ++y) {
      const size_t line = (k / columns * side + y) * columns + k % columns;
      std::memcpy(&sheet[line * side * 3], &images[(k * side + y) * side * 3],
                  side * 3);
    }
  }
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(columns * side);
  png.height = static_cast<png_uint_32>(rows * side);
  png.format = PNG_FORMAT_RGB;
  return png_image_write_to_file(&png, path.c_str(), 0, sheet.data(), 0,
                                 nullptr) != 0;
}

struct Arguments {
  std::string photos, service, sheet;
};

int Train(const Arguments& arguments) {
  const Clock::time_point start = Clock::now();
  feedmill::Loader loader(Photos(arguments.photos),
                          {.service = arguments.service});
  const auto image = loader.Column<uint8_t>("image");
  const auto label = loader.Column<int64_t>("label");
  for (const absl::Status& status : {image.status(), label.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "train_loop: %s\n", status.ToString().c_str());
    return 1;
  }
  feedmill::OrderHash hash;
  size_t photos = 0, batches = 0;
  double first_batch = 0;
  std::vector<uint8_t> shown;  // the first batch's images
  for (int epoch = 0; epoch < kEpochs && loader.status().ok(); ++epoch) {
    for (const feedmill::Element& element : loader) {
      const auto images = image->Tensor(element);
      const auto labels = label->Tensor(element);
      if (batches++ == 0) {
        first_batch = SecondsSince(start);
        if (!arguments.sheet.empty()) {
          shown.assign(images.items.begin(), images.items.end());
        }
      }
      // A model's step would be here; this loop only hashes its input.
      hash.Add(element.chunk(), element.row(), element.row() + 1);
      photos += labels.items.size();
      ShowProgress(photos, SecondsSince(start));
    }
  }
  if (isatty(STDERR_FILENO) != 0) std::fputc('\n', stderr);
  if (!loader.status().ok()) {
    std::fprintf(stderr, "train_loop: %s\n",
                 loader.status().ToString().c_str());
    return 1;
  }
  const double seconds = SecondsSince(start);
  // Done after the timed part: compressing the picture takes longer than
  // reading some batches.
  if (!shown.empty() && !WriteContactSheet(shown, arguments.sheet)) {
    std::fprintf(stderr, "train_loop: cannot write %s\n",
                 arguments.sheet.c_str());
    return 1;
  }
  std::printf(
      "{\"photos\": %zu, \"batches\": %zu, \"photos_per_s\": %.0f, "
      "\"first_batch_s\": %.3f, \"order_hash\": \"%s\"}\n",
      photos, batches, static_cast<double>(photos) / seconds, first_batch,
      hash.Hex().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int k = 1; k < argc; ++k) {
    const std::string flag = argv[k];
    if (flag == "--service" && k + 1 < argc)
      arguments.service = argv[++k];
    else if (flag == "--sheet" && k + 1 < argc)
      arguments.sheet = argv[++k];
    else if (arguments.photos.empty() && flag[0] != '-')
      arguments.photos = flag;
    else
      arguments.photos.clear(), k = argc;
  }
  if (arguments.photos.empty()) {
    std::fprintf(stderr,
                 "usage: train_loop PHOTO_DIR [--service tcp://HOST:PORT] "
                 "[--sheet FILE.png]\n");
    return 2;
  }
  return Train(arguments);
}
