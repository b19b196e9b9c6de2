#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/status.h"
#include "core/ops/image_formats.h"

// Source: https://netpbm.sourceforge.net/doc/, "pbm", "pgm" and "ppm".

namespace feedmill {
namespace {

constexpr int64_t kPnmMaximumMost = 65'535;

absl::Status PnmIsTruncated() { return DataLoss("PNM: the file is truncated"); }

bool IsPnmSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct PnmHeader {
  bool plain = false;  // samples are decimal numbers
  int64_t channels = 1;
  int64_t maximum = 1;  // of samples; 1: bits, of which 1 is black
  bool bits = false;
  ImageSize size;
  size_t pixels_at = 0;
};

// Moves `at` over white space and comments.
void SkipPnmSpace(std::string_view file, size_t& at) {
  while (at < file.size() && (IsPnmSpace(file[at]) || file[at] == '#')) {
    if (file[at] == '#') {
      while (at < file.size() && file[at] != '\n' && file[at] != '\r') ++at;
    } else {
      ++at;
    }
  }
}

// Reads the next decimal number.
absl::StatusOr<int64_t> ReadPnmNumber(std::string_view file, size_t& at) {
  constexpr size_t kDigits = 10;
  SkipPnmSpace(file, at);
  if (at == file.size()) return PnmIsTruncated();
  const size_t start = at;
  int64_t value = 0;
  for (; at < file.size() && file[at] >= '0' && file[at] <= '9'; ++at) {
    if (at - start == kDigits) return DataLoss("PNM: a number is too long");
    value = value * 10 + (file[at] - '0');
  }
  if (at == start) return DataLoss("PNM: a number is missing");
  return value;
}

absl::StatusOr<PnmHeader> ReadPnmHeader(std::string_view file) {
  const char kind = file[1];
  PnmHeader header;
  header.plain = kind <= '3';
  header.bits = kind == '1' || kind == '4';
  header.channels = kind == '3' || kind == '6' ? 3 : 1;
  size_t at = 2;
  FM_ASSIGN_OR_RETURN(header.size.width, ReadPnmNumber(file, at));
  FM_ASSIGN_OR_RETURN(header.size.height, ReadPnmNumber(file, at));
  if (!header.bits) {
    FM_ASSIGN_OR_RETURN(header.maximum, ReadPnmNumber(file, at));
    if (header.maximum < 1 || header.maximum > kPnmMaximumMost) {
      return DataLoss("PNM: the maximum of samples is {}, not 1 to {}",
                      header.maximum, kPnmMaximumMost);
    }
  }
  // One white space ends the header; further ones may be samples.
  header.pixels_at = at + 1;
  return header;
}

template <class Sample>
constexpr Sample kWhite = std::numeric_limits<Sample>::max();

template <class Sample>
Sample Scaled(int64_t sample, int64_t maximum) {
  if (maximum == kWhite<Sample>) return static_cast<Sample>(sample);
  if (sample >= maximum) return kWhite<Sample>;
  const double share =
      static_cast<double>(sample) / static_cast<double>(maximum);
  return static_cast<Sample>(std::nearbyint(share * kWhite<Sample>));
}

// Writes pixels of `channels` samples, 3 or 4, one after the other.
template <class Sample>
class PixelWriter {
 public:
  PixelWriter(int64_t channels, std::span<Sample> pixels)
      : alpha_(channels == 4), out_(pixels.data()) {}

  // Writes a pixel that has one sample, or three.
  void Write(const Sample* samples, int64_t count) {
    out_ = count == 3 ? std::copy_n(samples, 3, out_)
                      : std::fill_n(out_, 3, *samples);
    if (alpha_) *out_++ = kWhite<Sample>;
  }

 private:
  bool alpha_;
  Sample* out_;
};

template <class Sample>
absl::Status DecodePnmBits(std::string_view data, ImageSize size,
                           PixelWriter<Sample> out) {
  const auto row_bytes = static_cast<size_t>((size.width + 7) / 8);
  if (data.size() < row_bytes * static_cast<size_t>(size.height)) {
    return PnmIsTruncated();
  }
  for (int64_t y = 0; y < size.height; ++y) {
    const std::string_view row =
        data.substr(static_cast<size_t>(y) * row_bytes, row_bytes);
    for (int64_t x = 0; x < size.width; ++x) {
      const auto byte = static_cast<uint8_t>(row[static_cast<size_t>(x / 8)]);
      const Sample sample =
          (byte >> (7 - x % 8) & 1) != 0 ? Sample{0} : kWhite<Sample>;
      out.Write(&sample, 1);
    }
  }
  return absl::OkStatus();
}

template <class Sample>
absl::Status DecodePnmBytes(std::string_view data, const PnmHeader& header,
                            PixelWriter<Sample> out) {
  const size_t sample_bytes = header.maximum > 255 ? 2 : 1;
  const auto pixels =
      static_cast<size_t>(header.size.height * header.size.width);
  const auto channels = static_cast<size_t>(header.channels);
  if (data.size() < pixels * channels * sample_bytes) return PnmIsTruncated();
  const auto* next = reinterpret_cast<const uint8_t*>(data.data());
  Sample samples[3];
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    for (size_t c = 0; c < channels; ++c, next += sample_bytes) {
      const int64_t value = sample_bytes == 2 ? next[0] * 256 + next[1] : *next;
      samples[c] = Scaled<Sample>(value, header.maximum);
    }
    out.Write(samples, header.channels);
  }
  return absl::OkStatus();
}

// Returns the next digit of a plain bitmap, whose digits may stand together.
absl::StatusOr<int64_t> ReadPnmBit(std::string_view file, size_t& at) {
  SkipPnmSpace(file, at);
  if (at == file.size()) return PnmIsTruncated();
  const char digit = file[at++];
  if (digit == '0' || digit == '1') return digit == '0' ? 1 : 0;
  return DataLoss("PNM: neither 0 nor 1 in a plain bitmap");
}

template <class Sample>
absl::Status DecodePlainPnm(std::string_view file, const PnmHeader& header,
                            PixelWriter<Sample> out) {
  size_t at = header.pixels_at;
  const int64_t pixels = header.size.height * header.size.width;
  Sample samples[3];
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t c = 0; c < header.channels; ++c) {
      FM_ASSIGN_OR_RETURN(const int64_t value, header.bits
                                                   ? ReadPnmBit(file, at)
                                                   : ReadPnmNumber(file, at));
      if (value > header.maximum) {
        return DataLoss("PNM: a sample of {} is above the maximum of {}", value,
                        header.maximum);
      }
      samples[c] = Scaled<Sample>(value, header.maximum);
    }
    out.Write(samples, header.channels);
  }
  return absl::OkStatus();
}

template <class Sample>
absl::Status DecodePnmAs(std::string_view file, int64_t channels,
                         std::span<Sample> pixels) {
  FM_ASSIGN_OR_RETURN(const PnmHeader header, ReadPnmHeader(file));
  if (header.pixels_at > file.size()) return PnmIsTruncated();
  const PixelWriter<Sample> out(channels, pixels);
  if (header.plain) return DecodePlainPnm(file, header, out);
  const std::string_view data = file.substr(header.pixels_at);
  return header.bits ? DecodePnmBits(data, header.size, out)
                     : DecodePnmBytes(data, header, out);
}

}  // namespace

bool IsPnm(std::string_view file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' &&
         file[1] <= '6' && (IsPnmSpace(file[2]) || file[2] == '#');
}

absl::StatusOr<ImageSize> ReadPnmSize(std::string_view file) {
  FM_ASSIGN_OR_RETURN(const PnmHeader header, ReadPnmHeader(file));
  return header.size;
}

absl::Status DecodePnm(std::string_view file, ImageSize /*size*/,
                       int64_t channels, std::span<uint8_t> pixels) {
  return DecodePnmAs(file, channels, pixels);
}

absl::Status DecodeWidePnm(std::string_view file, ImageSize /*size*/,
                           int64_t channels, std::span<uint16_t> pixels) {
  return DecodePnmAs(file, channels, pixels);
}

}  // namespace feedmill
