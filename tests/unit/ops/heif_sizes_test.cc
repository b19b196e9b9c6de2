#include "core/ops/heif_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

std::string Number(uint64_t value, size_t bytes) {
  std::string text;
  for (; bytes > 0; --bytes)
    text += static_cast<char>(value >> (8 * (bytes - 1)));
  return text;
}

std::string Box(const std::string& type, const std::string& body) {
  return Number(8 + body.size(), 4) + type + body;
}

std::string FullBox(const std::string& type, const std::string& body) {
  return Box(type, Number(0, 4) + body);
}

class Bits {
 public:
  Bits& Put(uint64_t value, size_t count) {
    for (; count > 0; --count) {
      if (bits_ % 8 == 0) text_ += '\0';
      const uint64_t bit = count > 64 ? 0 : (value >> (count - 1)) & 1;
      const auto byte = static_cast<uint8_t>(text_.back());
      text_.back() = static_cast<char>(byte | (bit << (7 - bits_ % 8)));
      ++bits_;
    }
    return *this;
  }
  Bits& PutGolomb(uint64_t value) {
    size_t length = 0;
    while (((value + 1) >> length) > 1) ++length;
    return Put(0, length).Put(value + 1, length + 1);
  }
  const std::string& text() const { return text_; }

 private:
  size_t bits_ = 0;
  std::string text_;
};

std::string Av1Obu(uint64_t type, const Bits& bits) {
  return Number(type << 3 | 2, 1) + Number(bits.text().size(), 1) + bits.text();
}

// A sequence header for one still image.
std::string StillSequence(uint64_t width, uint64_t height) {
  return Av1Obu(1, Bits()
                       .Put(0, 3)
                       .Put(3, 2)  // still_picture, reduced
                       .Put(0, 5)
                       .Put(15, 4)
                       .Put(15, 4)
                       .Put(width - 1, 16)
                       .Put(height - 1, 16));
}

// One with times and tools, and a frame that says a size of 10 bits.
std::string SequenceWithFrameSize(uint64_t width, uint64_t height) {
  const Bits sequence = Bits()
                            .Put(0, 5)
                            .Put(1, 1)
                            .Put(0, 64)
                            .Put(0, 1)
                            .Put(1, 1)  // decoder model
                            .Put(9, 5)
                            .Put(0, 37)
                            .Put(4, 5)
                            .Put(1, 1)
                            .Put(0, 5)
                            .Put(0, 12)
                            .Put(8, 5)  // a level with a tier
                            .Put(0, 1)
                            .Put(1, 1)
                            .Put(0, 21)
                            .Put(1, 1)
                            .Put(0, 4)
                            .Put(9, 4)
                            .Put(9, 4)
                            .Put(width - 1, 10)
                            .Put(height - 1, 10)
                            .Put(1, 1)  // frame ids of 2 + 1 + 3 + 1 bits
                            .Put(2, 4)
                            .Put(2, 3)
                            .Put(0, 7)
                            .Put(1, 1)
                            .Put(0, 2)
                            .Put(1, 1)
                            .Put(1, 1);
  const Bits frame = Bits()
                         .Put(0, 3)
                         .Put(1, 1)
                         .Put(31, 5)  // time
                         .Put(0, 1)
                         .Put(1, 1)
                         .Put(0, 1)
                         .Put(0, 7)  // id
                         .Put(1, 1)
                         .Put(0, 8);
  return Av1Obu(1, sequence) + Av1Obu(6, frame);
}

std::string HevcSet(uint64_t width, uint64_t height) {
  const Bits bits = Bits()
                        .Put(33, 7)
                        .Put(1, 9)
                        .Put(0, 4)
                        .Put(1, 3)  // one more sublayer, with all its fields
                        .Put(0, 1 + 88 + 8)
                        .Put(3, 2)
                        .Put(0, 14)
                        .Put(0, 96)
                        .PutGolomb(0)
                        .PutGolomb(3)
                        .Put(0, 1)
                        .PutGolomb(width)
                        .PutGolomb(height);
  std::string nal;
  int zeros = 0;
  for (const char byte : bits.text()) {
    if (zeros == 2 && static_cast<uint8_t>(byte) <= 3) {
      nal += '\3';
      zeros = 0;
    }
    zeros = byte == 0 ? zeros + 1 : 0;
    nal += byte;
  }
  return nal;
}

struct Image {
  std::string type;
  uint64_t width = 0;
  uint64_t height = 0;
  std::string configuration{};  // a box
  std::string data{};
  std::vector<uint64_t> made_of{};  // from 1
};

// The primary image is the first one.
std::string FileOf(const std::vector<Image>& images) {
  std::string infos, places, properties, associations, references, data;
  uint64_t id = 0, property = 0;
  for (const Image& each : images) {
    ++id;
    infos += Box("infe", Number(2, 1) + Number(0, 3) + Number(id, 2) +
                             Number(0, 2) + each.type + '\0');
    places += Number(id, 2) + Number(1, 2) + Number(0, 2) + Number(1, 2) +
              Number(data.size(), 4) + Number(each.data.size(), 4);
    data += each.data;
    properties +=
        FullBox("ispe", Number(each.width, 4) + Number(each.height, 4)) +
        (each.configuration.empty() ? Box("free", "") : each.configuration);
    associations += Number(id, 2) + Number(2, 1) + Number(property + 1, 1) +
                    Number(0x80 | (property + 2), 1);
    property += 2;
    if (each.made_of.empty()) continue;
    references += Number(12 + 2 * each.made_of.size(), 4) + "dimg" +
                  Number(id, 2) + Number(each.made_of.size(), 2);
    for (const uint64_t from : each.made_of) references += Number(from, 2);
  }
  const std::string count = Number(images.size(), 2);
  return Box("ftyp", "avif") +
         FullBox("meta",
                 FullBox("pitm", Number(1, 2)) +
                     FullBox("iinf", count + infos) +
                     Box("iloc", Number(1, 1) + Number(0, 3) +
                                     Number(0x4400, 2) + count + places) +
                     Box("iprp", Box("ipco", properties) +
                                     FullBox("ipma", Number(images.size(), 4) +
                                                         associations)) +
                     FullBox("iref", references) + Box("idat", data));
}

std::string Grid(uint64_t width, uint64_t height) {
  return Number(0, 4) + Number(width, 2) + Number(height, 2);
}

Image Coded(uint64_t declared, uint64_t coded) {
  return {"av01", declared, declared, Box("av1C", Number(0, 4)),
          StillSequence(coded, coded)};
}

std::string ErrorOf(const std::vector<Image>& images) {
  return std::string(CheckHeifSizes(FileOf(images)).message());
}

TEST(HeifSizes, ComeFromTheCodedData) {
  const Image hevc{"hvc1", 16, 16, Box("hvcC", ""),
                   Number(HevcSet(8192, 4096).size(), 4) + HevcSet(8192, 4096)};
  const std::string set = HevcSet(2000, 1000);
  Image configured = hevc;
  configured.data = "";
  configured.configuration =
      Box("hvcC", std::string(22, '\0') + Number(1, 1) + Number(33, 1) +
                      Number(1, 2) + Number(set.size(), 2) + set);
  Image sized = Coded(16, 16);
  sized.data = SequenceWithFrameSize(16, 16);
  EXPECT_EQ(ErrorOf({Coded(8192, 8192)}), "");
  EXPECT_EQ(ErrorOf({Coded(16, 96)}), "");  // blocks of 64
  EXPECT_THAT(ErrorOf({Coded(16, 8192)}),
              HasSubstr("16 x 16 is coded as 8192 x 8192"));
  EXPECT_THAT(ErrorOf({sized}), HasSubstr("coded as 1024 x 1024"));
  EXPECT_THAT(ErrorOf({hevc}), HasSubstr("coded as 8192 x 4096"));
  EXPECT_THAT(ErrorOf({configured}), HasSubstr("coded as 2000 x 1000"));
  EXPECT_THAT(ErrorOf({Coded(uint64_t{1} << 31, 16)}), HasSubstr("the limit"));
}

TEST(HeifSizes, CountAllThatAGridIsMadeOf) {
  const Image grid{"grid", 512, 512, "", Grid(512, 512), {2, 2, 2, 2}};
  EXPECT_EQ(ErrorOf({grid, Coded(256, 256)}), "");
  EXPECT_THAT(ErrorOf({grid, Coded(16, 256)}), HasSubstr("coded as 256 x 256"));
  EXPECT_THAT(ErrorOf({grid, Coded(4096, 4096)}), HasSubstr("is made of"));
  Image large = grid;
  large.data = Grid(60'000, 512);
  EXPECT_THAT(ErrorOf({large, Coded(256, 256)}),
              HasSubstr("coded as 60000 x 512"));
  Image itself = grid;
  itself.made_of = {1};
  EXPECT_THAT(ErrorOf({itself}), HasSubstr("made of itself"));
  // An image that is not shown may be any.
  EXPECT_EQ(ErrorOf({Coded(256, 256), Coded(16, 8192)}), "");
}

TEST(HeifSizes, AreNotReadInTwoWays) {
  const std::string file = FileOf({Coded(16, 16)});
  const std::string other = FileOf({Coded(8192, 8192)});
  EXPECT_TRUE(CheckHeifSizes(file).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckHeifSizes(file + other)));
}

TEST(HeifSizes, AreCheckedInAnyBytes) {
  const std::string file = FileOf({{"grid", 64, 64, "", Grid(64, 64), {2, 3}},
                                   Coded(32, 32),
                                   Coded(32, 32)});
  for (size_t k = 0; k < file.size(); ++k) {
    CheckHeifSizes(file.substr(0, k)).IgnoreError();
    for (const int byte : {0, 1, 127, 255}) {
      std::string changed = file;
      changed[k] = static_cast<char>(byte);
      const absl::Status status = CheckHeifSizes(changed);
      EXPECT_TRUE(status.ok() || absl::IsDataLoss(status));
    }
  }
}

}  // namespace
}  // namespace feedmill
