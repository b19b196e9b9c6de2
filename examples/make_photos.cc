// Makes crops of 500 x 375 of real photographs: as JPEGs, in a folder per
// photograph, and as TFRecords of tf.train.Examples {image, label}.
//
//   make_photos OUT_DIR COUNT PHOTO...
//
// Equal arguments make equal files. A complete set is left unchanged.

#include <turbojpeg.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 500, kHeight = 375, kShards = 8, kQuality = 90;

struct Photo {
  std::string name;
  cv::Mat pixels;
};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  return out.flush().good();
}

bool LoadPhoto(const std::string& path, Photo& photo) {
  const std::string bytes = ReadFile(path);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitDecompress(),
                                                  tjDestroy);
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(handle.get(), data, bytes.size(), &width, &height,
                          &subsampling, &colorspace) != 0 ||
      width < kWidth || height < kHeight) {
    return false;
  }
  photo.name = fs::path(path).stem().string();
  photo.pixels.create(height, width, CV_8UC3);
  return tjDecompress2(handle.get(), data, bytes.size(), photo.pixels.data,
                       width, 0, height, TJPF_RGB, 0) == 0;
}

// Returns a random crop with the target's aspect ratio, between half and all of
// the photo.
std::string Crop(const Photo& photo, std::mt19937_64& random) {
  const int width = photo.pixels.cols, height = photo.pixels.rows;
  const double fit = std::min(width / double{kWidth}, height / double{kHeight});
  const double scale =
      fit * (0.5 + 0.5 * static_cast<double>(random() % 1000) / 1000);
  const int w = static_cast<int>(kWidth * scale);
  const int h = static_cast<int>(kHeight * scale);
  const int x =
      static_cast<int>(random() % static_cast<uint64_t>(width - w + 1));
  const int y =
      static_cast<int>(random() % static_cast<uint64_t>(height - h + 1));
  cv::Mat crop;
  cv::resize(photo.pixels(cv::Rect(x, y, w, h)), crop,
             cv::Size(kWidth, kHeight), 0, 0, cv::INTER_AREA);
  std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitCompress(), tjDestroy);
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;
  tjCompress2(handle.get(), crop.data, kWidth, 0, kHeight, TJPF_RGB, &jpeg,
              &size, TJSAMP_420, kQuality, 0);
  std::string out(reinterpret_cast<char*>(jpeg), size);
  tjFree(jpeg);
  return out;
}

// ---- TFRecord framing and tf.train.Example protobufs, written by hand
std::string Varint(uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7)
    out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}

std::string Field(uint64_t number, const std::string& bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + bytes;
}

std::string Example(const std::string& image, uint64_t label) {
  const std::string bytes_list = Field(1, Field(1, image));
  const std::string int64_list = Field(3, Field(1, Varint(label)));
  return Field(1, Field(1, Field(1, "image") + Field(2, bytes_list)) +
                      Field(1, Field(1, "label") + Field(2, int64_list)));
}

uint32_t MaskedCrc(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

template <class T>
std::string Word(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Framed(const std::string& record) {
  const std::string length = Word(uint64_t{record.size()});
  return length + Word(MaskedCrc(length)) + record + Word(MaskedCrc(record));
}

int Run(const std::string& out, int count, const std::vector<Photo>& photos) {
  std::vector<std::string> shards(kShards);
  std::mt19937_64 random(7);
  for (int k = 0; k < count; ++k) {
    const size_t label = random() % photos.size();
    const std::string jpeg = Crop(photos[label], random);
    const std::string folder = out + "/jpeg/" + photos[label].name;
    fs::create_directories(folder);
    char name[32];
    std::snprintf(name, sizeof name, "/%05d.jpg", k);
    if (!WriteFile(folder + name, jpeg)) return 1;
    shards[static_cast<size_t>(k % kShards)] += Framed(Example(jpeg, label));
  }
  fs::create_directories(out + "/tfrecord");
  for (int k = 0; k < kShards; ++k) {
    if (!WriteFile(out + "/tfrecord/photos-" + std::to_string(k) + ".tfrecord",
                   shards[static_cast<size_t>(k)])) {
      return 1;
    }
  }
  return WriteFile(out + "/complete", std::to_string(count) + "\n") ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: make_photos OUT_DIR COUNT PHOTO...\n");
    return 2;
  }
  const std::string out = argv[1];
  const int count = std::atoi(argv[2]);
  if (ReadFile(out + "/complete") == std::to_string(count) + "\n") return 0;
  std::vector<Photo> photos;
  for (int k = 3; k < argc; ++k) {
    Photo photo;
    if (LoadPhoto(argv[k], photo)) photos.push_back(std::move(photo));
  }
  if (photos.empty() || count <= 0) {
    std::fprintf(
        stderr,
        "make_photos: no photograph of %d x %d or more in the arguments; "
        "install mate-backgrounds (tools/setup --demo)\n",
        kWidth, kHeight);
    return 1;
  }
  if (Run(out, count, photos) != 0) {
    std::fprintf(stderr, "make_photos: cannot write below %s\n", out.c_str());
    return 1;
  }
  std::printf("%d crops of %zu photographs in %s\n", count, photos.size(),
              out.c_str());
  return 0;
}
