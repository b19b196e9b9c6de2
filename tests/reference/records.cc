#include "tests/reference/records.h"

#include <glob.h>
#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <opencv2/imgproc.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/little_endian.h"
#include "tests/reference/expression.h"
#include "tests/reference/image_resizing.h"

namespace feedmill::reference {
namespace {

namespace fs = std::filesystem;

uint32_t Crc32c(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  return ~crc;
}

uint32_t Masked(const std::string& bytes) {
  const uint32_t crc = Crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

// A field of a protobuf message.
struct Field {
  uint64_t number, type, varint;
  std::string bytes;
};

uint64_t Varint(const std::string& s, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at >= s.size()) throw DataError("truncated varint");
    const uint64_t byte = static_cast<unsigned char>(s[at++]);
    if (shift < 64) value |= (byte & 127) << shift;
    if (byte < 128) return value;
  }
  throw DataError("varint without an end");
}

std::vector<Field> Fields(const std::string& s) {
  std::vector<Field> out;
  for (size_t at = 0; at < s.size();) {
    const uint64_t tag = Varint(s, at);
    Field f{tag >> 3, tag & 7, 0, {}};
    if (f.number == 0) throw DataError("a field has the number 0");
    size_t length = 0;
    if (f.type == 0)
      f.varint = Varint(s, at);
    else if (f.type == 1)
      length = 8;
    else if (f.type == 5)
      length = 4;
    else if (f.type == 2)
      length = Varint(s, at);
    else
      throw DataError("unknown wire type");
    if (length > s.size() - at) throw DataError("truncated field");
    f.bytes = s.substr(at, length);
    at += length;
    out.push_back(f);
  }
  return out;
}

void AppendValues(const std::string& list, DType dtype, Tensor& out) {
  for (const Field& f : Fields(list)) {
    if (f.number != 1) continue;
    if (dtype == DType::kBytes && f.type == 2) {
      out.strings.push_back(f.bytes);
    } else if (dtype == DType::kInt64 && f.type == 0) {
      out.numbers.push_back(static_cast<int64_t>(f.varint));
    } else if (dtype == DType::kInt64 && f.type == 2) {
      for (size_t at = 0; at < f.bytes.size();)
        out.numbers.push_back(static_cast<int64_t>(Varint(f.bytes, at)));
    } else if (dtype == DType::kFloat32 && (f.type == 5 || f.type == 2)) {
      if (f.bytes.size() % 4 != 0) throw DataError("odd float list");
      for (size_t at = 0; at < f.bytes.size(); at += 4)
        out.numbers.push_back(LoadLittleEndian<float>(f.bytes, at));
    } else {
      throw DataError("wire type does not fit the list");
    }
  }
}

}  // namespace

std::vector<std::string> Expand(const std::vector<std::string>& globs) {
  std::vector<std::string> out;
  for (const std::string& pattern : globs) {
    std::vector<std::string> found;
    if (fs::is_directory(pattern)) {
      for (const auto& entry : fs::recursive_directory_iterator(pattern))
        if (entry.is_regular_file()) found.push_back(entry.path().string());
    } else if (fs::exists(pattern)) {
      found = {pattern};
    } else {
      glob_t result;
      if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &result) == 0)
        found.assign(result.gl_pathv, result.gl_pathv + result.gl_pathc);
      globfree(&result);
    }
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::optional<std::string>> TfRecords(const std::string& path) {
  const std::string file = ReadFile(path);
  std::vector<std::optional<std::string>> out;
  for (size_t at = 0; at < file.size();) {
    if (file.size() - at < 12) throw DataError("truncated record header");
    const uint64_t length = LoadLittleEndian<uint64_t>(file, at);
    if (Masked(file.substr(at, 8)) != LoadLittleEndian<uint32_t>(file, at + 8))
      throw DataError("corrupt record length");
    if (length > file.size() - at - 12 || file.size() - at - 12 - length < 4)
      throw DataError("truncated record");
    out.push_back(file.substr(at + 12, length));
    if (Masked(*out.back()) !=
        LoadLittleEndian<uint32_t>(file, at + 12 + length))
      out.back().reset();
    at += 16 + length;
  }
  return out;
}

// Lists the images of a folder or glob.
std::vector<std::string> ImagePaths(const ImagesSource& source) {
  std::vector<std::string> out;
  for (const std::string& pattern : source.files) {
    for (const std::string& path : Expand({pattern})) {
      const std::string bytes = ReadFile(path);
      std::string suffix = fs::path(path).extension().string();
      bool wanted = path == pattern ||
                    (!suffix.empty() && pattern.ends_with(suffix)) ||
                    bytes.starts_with("\xff\xd8\xff") ||
                    bytes.starts_with("\x89PNG") || bytes.starts_with("RIFF");
      for (char& c : suffix) c = static_cast<char>(std::tolower(c));
      for (const char* known : {".jpg", ".jpeg", ".png", ".webp"})
        wanted = wanted || suffix == known;
      if (wanted) out.push_back(path);
    }
  }
  return out;
}

std::vector<Element> ImageRecords(const ImagesSource& source) {
  const std::vector<std::string> paths = ImagePaths(source);
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string name = fs::path(path).parent_path().filename().string();
    if (source.label == ImagesSource::Label::kFilename) {
      name = fs::path(path).stem().string();
      name = name.substr(name.rfind('_') + 1);
    }
    names.push_back(name);
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  const bool numbers =
      std::all_of(distinct.begin(), distinct.end(), [](const std::string& s) {
        return !s.empty() && s.size() <= 18 && (s == "0" || s[0] != '0') &&
               s.find_first_not_of("0123456789") == std::string::npos;
      });
  std::vector<Element> out;
  for (size_t k = 0; k < paths.size(); ++k) {
    const auto given =
        std::find(source.classes.begin(), source.classes.end(), names[k]);
    const int64_t label =
        !source.classes.empty() ? given - source.classes.begin()
        : numbers               ? std::stoll(names[k])
                  : std::distance(distinct.begin(), distinct.find(names[k]));
    out.push_back(
        {{"image", {DType::kBytes, {}, {}, {ReadFile(paths[k])}}},
         {"label", {DType::kInt64, {}, {static_cast<long double>(label)}, {}}},
         {"path", {DType::kBytes, {}, {}, {paths[k]}}}});
  }
  return out;
}

namespace {

using Messages = std::map<std::string, std::string>;

// Returns the values of the map entries in fields `number` of a message: name →
// Feature or FeatureList.
Messages EntriesOf(const std::string& bytes, uint64_t number) {
  Messages out;
  for (const Field& map : Fields(bytes)) {
    if (map.number != number || map.type != 2) continue;
    for (const Field& entry : Fields(map.bytes)) {
      if (entry.number != 1 || entry.type != 2) continue;
      std::string key, value;
      for (const Field& f : Fields(entry.bytes))
        (f.number == 1 ? key : value) = f.bytes;
      out[key] = value;
    }
  }
  return out;
}

size_t Count(const Tensor& value) {
  return value.numbers.size() + value.strings.size();
}

void AppendFeature(const std::string& message, const Feature& wanted,
                   Tensor& value) {
  const uint64_t kind = wanted.dtype == DType::kBytes     ? 1
                        : wanted.dtype == DType::kFloat32 ? 2
                                                          : 3;
  for (const Field& f : Fields(message)) {
    if (f.number != kind) throw DataError("another kind: " + wanted.name);
    AppendValues(f.bytes, wanted.dtype, value);
  }
}

Component FeatureOf(const Messages& features, const Feature& wanted) {
  const auto found = features.find(wanted.name);
  const bool open = !wanted.shape.empty() && wanted.shape[0] == kUnknownDim;
  if (found == features.end() && !open)
    throw DataError("missing " + wanted.name);
  Tensor value{wanted.dtype, wanted.shape, {}, {}};
  if (found != features.end()) AppendFeature(found->second, wanted, value);
  size_t count = 1;
  for (size_t k = open; k < wanted.shape.size(); ++k)
    count *= static_cast<size_t>(wanted.shape[k]);
  if (open ? Count(value) % count != 0 : Count(value) != count)
    throw DataError("another count: " + wanted.name);
  if (open) value.shape[0] = static_cast<int64_t>(Count(value) / count);
  return {wanted.name, value};
}

Component ListOf(const Messages& lists, const Feature& wanted) {
  Tensor value{wanted.dtype, wanted.shape, {}, {}};
  size_t count = 1, steps = 0;
  for (int64_t d : wanted.shape) count *= static_cast<size_t>(d);
  const auto found = lists.find(wanted.name);
  if (found != lists.end()) {
    for (const Field& feature : Fields(found->second)) {
      AppendFeature(feature.bytes, wanted, value);
      if (Count(value) != ++steps * count)
        throw DataError("another count: " + wanted.name);
    }
  }
  value.shape.insert(value.shape.begin(), static_cast<int64_t>(steps));
  return {wanted.name, value};
}

}  // namespace

Element ParseExample(const std::string& bytes, const ParseExampleStep& step) {
  const Messages features = EntriesOf(bytes, 1);
  Element out;
  for (const auto& wanted : step.features)
    out.push_back(FeatureOf(features, wanted));
  return out;
}

Element ParseSequenceExample(const std::string& bytes,
                             const ParseSequenceExampleStep& step) {
  const Messages context = EntriesOf(bytes, 1), lists = EntriesOf(bytes, 2);
  Element out;
  for (const auto& wanted : step.context)
    out.push_back(FeatureOf(context, wanted));
  for (const auto& wanted : step.sequence) out.push_back(ListOf(lists, wanted));
  return out;
}

namespace {

// Computes the size of a width x height JPEG decoded at the smallest allowed
// scale.
void Shrink(const std::vector<int64_t>& at_least, int& width, int& height) {
  int scale = 8;
  while (scale > 1 &&
         (height / scale < at_least[0] || width / scale < at_least[1]))
    scale /= 2;
  height = (height + scale - 1) / scale;
  width = (width + scale - 1) / scale;
}

unsigned char Luma(int r, int g, int b) {
  return static_cast<unsigned char>((r * 19595 + g * 38470 + b * 7471 + 32768) /
                                    65536);
}

std::vector<unsigned char> WebpPixels(const std::string& bytes,
                                      int64_t channels, int& width,
                                      int& height) {
  uint8_t* rgba = WebPDecodeRGBA(reinterpret_cast<const uint8_t*>(bytes.data()),
                                 bytes.size(), &width, &height);
  if (rgba == nullptr) throw DataError("corrupt WebP");
  std::vector<unsigned char> out;
  const size_t pixels =
      static_cast<size_t>(width) * static_cast<size_t>(height);
  for (size_t k = 0; k < 4 * pixels; k += 4) {
    if (channels == 1)
      out.push_back(Luma(rgba[k], rgba[k + 1], rgba[k + 2]));
    else
      out.insert(out.end(), rgba + k, rgba + k + channels);
  }
  WebPFree(rgba);
  return out;
}

// Adobe's inverted CMYK to RGB, as Pillow does it.
std::vector<unsigned char> FromInks(const std::vector<unsigned char>& inks,
                                    int64_t channels) {
  std::vector<unsigned char> out;
  for (size_t k = 0; k < inks.size(); k += 4) {
    std::array<int, 3> rgb{};
    for (size_t c = 0; c < 3; ++c) {
      const int product = (255 - inks[k + c]) * inks[k + 3] + 128;
      rgb.at(c) = inks[k + 3] - (product / 256 + product) / 256;
    }
    if (channels == 1) {
      out.push_back(Luma(rgb[0], rgb[1], rgb[2]));
      continue;
    }
    for (const int sample : rgb)
      out.push_back(static_cast<unsigned char>(sample));
    if (channels == 4) out.push_back(255);
  }
  return out;
}

// The orientation of a file whose EXIF data follows the word Exif.
int OrientationOf(const std::string& bytes) {
  const size_t exif = bytes.find(std::string("Exif\0\0", 6));
  if (exif == std::string::npos) return 1;
  const std::string tiff = bytes.substr(exif + 6);
  const bool big = tiff.starts_with("MM");
  const auto number = [&](size_t at, size_t size) {
    size_t value = 0;
    for (size_t k = 0; k < size; ++k)
      value = value * 256 + static_cast<unsigned char>(
                                tiff.at(big ? at + k : at + size - 1 - k));
    return value;
  };
  const size_t directory = number(4, 4);
  for (size_t k = 0; k < number(directory, 2); ++k)
    if (number(directory + 2 + 12 * k, 2) == 274)
      return static_cast<int>(number(directory + 2 + 12 * k + 8, 2));
  return 1;
}

// Turns the image step by step, as ImageOps.exif_transpose does.
Tensor Oriented(const Tensor& image, int orientation) {
  const int64_t height = image.shape[0], width = image.shape[1],
                channels = image.shape[2];
  const bool transposed = orientation >= 5 && orientation <= 8;
  Tensor out = image;
  if (transposed) std::swap(out.shape[0], out.shape[1]);
  for (int64_t y = 0; y < out.shape[0]; ++y)
    for (int64_t x = 0; x < out.shape[1]; ++x) {
      int64_t from_y = transposed ? x : y, from_x = transposed ? y : x;
      const auto is = [&](std::initializer_list<int> values) {
        return std::count(values.begin(), values.end(), orientation) > 0;
      };
      if (is({3, 4, 6, 7})) from_y = height - 1 - from_y;
      if (is({2, 3, 7, 8})) from_x = width - 1 - from_x;
      for (int64_t c = 0; c < channels; ++c)
        out.numbers.at(size_t((y * out.shape[1] + x) * channels + c)) =
            image.numbers.at(size_t((from_y * width + from_x) * channels + c));
    }
  return out;
}

}  // namespace

Tensor DecodeImage(const std::string& bytes, const DecodeImageStep& step,
                   const std::vector<int64_t>& at_least) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::vector<unsigned char> pixels;
  int width = 0, height = 0;
  for (const char* other : {"GIF8", "BM", "P1", "P2", "P3", "P4", "P5", "P6"}) {
    if (bytes.starts_with(other))
      throw std::logic_error(
          "the reference decodes JPEG, PNG and WebP; image_format_cases.py "
          "tests the other formats");
  }
  if (bytes.starts_with("\x89PNG")) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, data, bytes.size()))
      throw DataError("not a PNG");
    // The simplified API would blend alpha, so alpha is read and dropped.
    const bool alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    if (step.dtype == DecodeImageStep::Dtype::kUInt16 && bytes.at(24) == 16)
      throw std::logic_error(
          "the reference decodes PNG of up to 8 bits; image_format_cases.py "
          "tests those of 16 bits");
    image.format = step.channels == 4 ? PNG_FORMAT_RGBA
                   : step.channels == 3
                       ? (alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB)
                       : (alpha ? PNG_FORMAT_GA : PNG_FORMAT_GRAY);
    std::vector<unsigned char> raw(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, nullptr, raw.data(), 0, nullptr))
      throw DataError("corrupt PNG");
    width = static_cast<int>(image.width);
    height = static_cast<int>(image.height);
    const size_t c = static_cast<size_t>(step.channels),
                 have = c + (alpha && c < 4);
    for (size_t k = 0; k < raw.size(); ++k)
      if (k % have < c) pixels.push_back(raw[k]);
  } else if (bytes.starts_with("RIFF")) {
    pixels = WebpPixels(bytes, step.channels, width, height);
  } else {
    tjhandle handle = tjInitDecompress();
    int subsampling = 0, colorspace = 0;
    const auto fatal = [&] { return tjGetErrorCode(handle) == TJERR_FATAL; };
    bool failed = tjDecompressHeader3(handle, data, bytes.size(), &width,
                                      &height, &subsampling, &colorspace) &&
                  fatal();
    if (!failed) {
      if (!at_least.empty()) Shrink(at_least, width, height);
      const bool inks = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
      pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height) *
                    (inks ? 4 : static_cast<size_t>(step.channels)));
      const auto warns = [&](const std::string& file) {
        return tjDecompress2(handle,
                             reinterpret_cast<const uint8_t*>(file.data()),
                             file.size(), pixels.data(), width, 0, height,
                             inks                 ? TJPF_CMYK
                             : step.channels == 4 ? TJPF_RGBA
                             : step.channels == 3 ? TJPF_RGB
                                                  : TJPF_GRAY,
                             step.dct == DecodeImageStep::Dct::kFast
                                 ? TJFLAG_FASTDCT
                                 : TJFLAG_ACCURATEDCT) != 0;
      };
      const auto says = [&](const char* text) {
        return std::strstr(tjGetErrorStr2(handle), text) != nullptr;
      };
      // If adding an end marker still gives a warning, the file lacks data.
      const bool lacks_data =
          warns(bytes + "\xff\xd9") && says("premature end of data segment");
      const bool warned = warns(bytes);
      const bool truncated = lacks_data && says("Premature end of JPEG file");
      failed =
          warned &&
          (fatal() ||
           (truncated ? step.truncated == DecodeImageStep::Truncated::kFail
                      : step.on_warning == DecodeImageStep::OnWarning::kFail));
      if (inks) pixels = FromInks(pixels, step.channels);
    }
    tjDestroy(handle);
    if (failed) throw DataError("corrupt JPEG");
  }
  Tensor image{DType::kUInt8,
               {height, width, step.channels},
               std::vector<long double>(pixels.begin(), pixels.end()),
               {}};
  if (step.dtype == DecodeImageStep::Dtype::kUInt16) {
    image.dtype = DType::kUInt16;
    for (long double& sample : image.numbers) sample *= 257;
  }
  return step.apply_exif_orientation ? Oriented(image, OrientationOf(bytes))
                                     : image;
}

Tensor Resize(const Tensor& image, const ResizeStep& given) {
  ResizeStep step = given;
  if (step.shorter > 0 || step.longer > 0) {
    // Torchvision's int(size * long / short).
    const int64_t h = image.shape[0], w = image.shape[1];
    const int64_t to = std::max(step.shorter, step.longer);
    const bool tall = (h > w) == (step.shorter > 0);
    step.height = !tall ? to : to * h / w;
    step.width = tall ? to : to * w / h;
    if (h == w) step.height = step.width = to;
    if (std::min(step.height, step.width) == 0) throw DataError("resize");
  }
  if (step.antialias)
    return Antialiased(image, step.height, step.width, /*cubic=*/false);
  const int channels = static_cast<int>(image.shape[2]);
  cv::Mat from(static_cast<int>(image.shape[0]),
               static_cast<int>(image.shape[1]), CV_8UC(channels));
  for (size_t k = 0; k < image.numbers.size(); ++k)
    from.data[k] = static_cast<unsigned char>(image.numbers[k]);
  cv::Mat to;
  cv::resize(
      from, to,
      cv::Size(static_cast<int>(step.width), static_cast<int>(step.height)), 0,
      0,
      step.method == ResizeStep::Method::kBilinear ? cv::INTER_LINEAR
                                                   : cv::INTER_NEAREST);
  const size_t size = to.total() * static_cast<size_t>(channels);
  return {DType::kUInt8,
          {step.height, step.width, channels},
          std::vector<long double>(to.data, to.data + size),
          {}};
}

Element MadeOf(const Tensor& record, const Step& step) {
  if (const auto* parse = step.As<ParseExampleStep>())
    return ParseExample(record.strings.at(0), *parse);
  if (const auto* parse = step.As<ParseSequenceExampleStep>())
    return ParseSequenceExample(record.strings.at(0), *parse);
  if (const auto* decode = step.As<DecodeImageStep>())
    return {{"", DecodeImage(record.strings.at(0), *decode)}};
  return {{"", Resize(record, step.Get<ResizeStep>())}};
}

}  // namespace feedmill::reference
