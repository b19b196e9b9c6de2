#include "tests/reference/augmentations.h"

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/tensor_functions.h"

namespace feedmill::reference {
namespace {

// torchvision's policies: an operation, its probability and magnitude, twice.
constexpr const char* kImagenetRows =
    "Posterize 0.4 8 Rotate 0.6 9\n"
    "Solarize 0.6 5 AutoContrast 0.6 0\n"
    "Equalize 0.8 0 Equalize 0.6 0\n"
    "Posterize 0.6 7 Posterize 0.6 6\n"
    "Equalize 0.4 0 Solarize 0.2 4\n"
    "Equalize 0.4 0 Rotate 0.8 8\n"
    "Solarize 0.6 3 Equalize 0.6 0\n"
    "Posterize 0.8 5 Equalize 1.0 0\n"
    "Rotate 0.2 3 Solarize 0.6 8\n"
    "Equalize 0.6 0 Posterize 0.4 6\n"
    "Rotate 0.8 8 Color 0.4 0\n"
    "Rotate 0.4 9 Equalize 0.6 0\n"
    "Equalize 0.0 0 Equalize 0.8 0\n"
    "Invert 0.6 0 Equalize 1.0 0\n"
    "Color 0.6 4 Contrast 1.0 8\n"
    "Rotate 0.8 8 Color 1.0 2\n"
    "Color 0.8 8 Solarize 0.8 7\n"
    "Sharpness 0.4 7 Invert 0.6 0\n"
    "ShearX 0.6 5 Equalize 1.0 0\n"
    "Color 0.4 0 Equalize 0.6 0\n"
    "Equalize 0.4 0 Solarize 0.2 4\n"
    "Solarize 0.6 5 AutoContrast 0.6 0\n"
    "Invert 0.6 0 Equalize 1.0 0\n"
    "Color 0.6 4 Contrast 1.0 8\n"
    "Equalize 0.8 0 Equalize 0.6 0\n";

constexpr const char* kCifar10Rows =
    "Invert 0.1 0 Contrast 0.2 6\n"
    "Rotate 0.7 2 TranslateX 0.3 9\n"
    "Sharpness 0.8 1 Sharpness 0.9 3\n"
    "ShearY 0.5 8 TranslateY 0.7 9\n"
    "AutoContrast 0.5 0 Equalize 0.9 0\n"
    "ShearY 0.2 7 Posterize 0.3 7\n"
    "Color 0.4 3 Brightness 0.6 7\n"
    "Sharpness 0.3 9 Brightness 0.7 9\n"
    "Equalize 0.6 0 Equalize 0.5 0\n"
    "Contrast 0.6 7 Sharpness 0.6 5\n"
    "Color 0.7 7 TranslateX 0.5 8\n"
    "Equalize 0.3 0 AutoContrast 0.4 0\n"
    "TranslateY 0.4 3 Sharpness 0.2 6\n"
    "Brightness 0.9 6 Color 0.2 8\n"
    "Solarize 0.5 2 Invert 0.0 0\n"
    "Equalize 0.2 0 AutoContrast 0.6 0\n"
    "Equalize 0.2 0 Equalize 0.6 0\n"
    "Color 0.9 9 Equalize 0.6 0\n"
    "AutoContrast 0.8 0 Solarize 0.2 8\n"
    "Brightness 0.1 3 Color 0.7 0\n"
    "Solarize 0.4 5 AutoContrast 0.9 0\n"
    "TranslateY 0.9 9 TranslateY 0.7 9\n"
    "AutoContrast 0.9 0 Solarize 0.8 3\n"
    "Equalize 0.8 0 Invert 0.1 0\n"
    "TranslateY 0.7 9 AutoContrast 0.9 0\n";

constexpr const char* kSvhnRows =
    "ShearX 0.9 4 Invert 0.2 0\n"
    "ShearY 0.9 8 Invert 0.7 0\n"
    "Equalize 0.6 0 Solarize 0.6 6\n"
    "Invert 0.9 0 Equalize 0.6 0\n"
    "Equalize 0.6 0 Rotate 0.9 3\n"
    "ShearX 0.9 4 AutoContrast 0.8 0\n"
    "ShearY 0.9 8 Invert 0.4 0\n"
    "ShearY 0.9 5 Solarize 0.2 6\n"
    "Invert 0.9 0 AutoContrast 0.8 0\n"
    "Equalize 0.6 0 Rotate 0.9 3\n"
    "ShearX 0.9 4 Solarize 0.3 3\n"
    "ShearY 0.8 8 Invert 0.7 0\n"
    "Equalize 0.9 0 TranslateY 0.6 6\n"
    "Invert 0.9 0 Equalize 0.6 0\n"
    "Contrast 0.3 3 Rotate 0.8 4\n"
    "Invert 0.8 0 TranslateY 0.0 2\n"
    "ShearY 0.7 6 Solarize 0.4 8\n"
    "Invert 0.6 0 Rotate 0.8 4\n"
    "ShearY 0.3 7 TranslateX 0.9 3\n"
    "ShearX 0.1 6 Invert 0.6 0\n"
    "Solarize 0.7 2 TranslateY 0.6 7\n"
    "ShearY 0.8 4 Invert 0.8 0\n"
    "ShearX 0.7 9 TranslateY 0.8 3\n"
    "ShearY 0.8 5 AutoContrast 0.7 0\n"
    "ShearX 0.7 2 Invert 0.1 0\n";

// An operation with the fraction of its largest magnitude.
struct Drawn {
  std::string op;
  double part = 0;
  bool negative = false;
};

// The largest shear, translation (of the width and the height), rotation and
// factor, and the bits of posterize.
struct Most {
  double shear, right, down, degrees, factor, bits;
};

Expr Applied(const Drawn& drawn, const Most& most, const Expr& image,
             const std::string& method) {
  const auto of = [&](double largest) {
    return drawn.negative ? -largest * drawn.part : largest * drawn.part;
  };
  const auto affine = [&](double right, double down, double shear_x,
                          double shear_y, bool about_corner) {
    std::vector<Expr> arguments = {
        image,     Expr(0.0),     Expr(right),   Expr(down),
        Expr(1.0), Expr(shear_x), Expr(shear_y), Expr(method.c_str())};
    if (about_corner)
      arguments.push_back(
          Expr::Apply("list", {Expr(int64_t{0}), Expr(int64_t{0})}));
    return Expr::Apply("image.affine", std::move(arguments));
  };
  const auto color = [&](const char* name, double factor) {
    return Expr::Apply(std::string("image.") + name, {image, Expr(factor)});
  };
  const double tilt =
      std::atan(of(most.shear)) * (180.0 / 3.14159265358979323846);
  const std::string& op = drawn.op;
  if (op == "Identity") return image;
  if (op == "ShearX") return affine(0, 0, tilt, 0, true);
  if (op == "ShearY") return affine(0, 0, 0, tilt, true);
  if (op == "TranslateX")
    return affine(std::trunc(of(most.right)), 0, 0, 0, false);
  if (op == "TranslateY")
    return affine(0, std::trunc(of(most.down)), 0, 0, false);
  if (op == "Rotate")
    return Expr::Apply("image.rotate",
                       {image, Expr(of(most.degrees)), Expr(method.c_str())});
  if (op == "Brightness")
    return color("adjust_brightness", 1 + of(most.factor));
  if (op == "Color") return color("adjust_saturation", 1 + of(most.factor));
  if (op == "Contrast") return color("adjust_contrast", 1 + of(most.factor));
  if (op == "Sharpness") return color("adjust_sharpness", 1 + of(most.factor));
  if (op == "Posterize")
    return color("posterize", std::nearbyint(8 - drawn.part * most.bits));
  if (op == "Solarize") return color("solarize", 255 * (1 - drawn.part));
  const char* plain = op == "AutoContrast" ? "image.autocontrast"
                      : op == "Equalize"   ? "image.equalize"
                                           : "image.invert";
  return Expr::Apply(plain, {image});
}

constexpr const char* kOperations[] = {
    "Identity",  "ShearX",     "ShearY",       "TranslateX", "TranslateY",
    "Rotate",    "Brightness", "Color",        "Contrast",   "Sharpness",
    "Posterize", "Solarize",   "AutoContrast", "Equalize"};

bool IsBelow(uint32_t word, double probability) {
  return std::ldexp(word, -32) < probability;
}

// The word as an integer in [0, range).
uint64_t Scaled(uint64_t word, uint64_t range) { return (word * range) >> 32; }

}  // namespace

Expr Augmented(const Expr::Call& call, int64_t height, int64_t width,
               uint64_t first,
               const std::function<std::array<uint32_t, 4>(uint64_t)>& block) {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  for (size_t k = 5; k < call.arguments.size(); ++k) {
    const auto& value = std::get<Expr::Literal>(call.arguments[k].node()).value;
    if (const auto* text = std::get_if<std::string>(&value))
      texts.push_back(*text);
    else
      numbers.push_back(std::get<int64_t>(value));
  }
  const bool trivial = call.function == "image.trivial_augment_wide";
  const bool bilinear = !texts.empty() && texts.back() == "bilinear";
  const std::string method = bilinear ? "bilinear" : "nearest";
  const double fraction = 150.0 / 331.0;
  const Most most = trivial ? Most{0.99, 32, 32, 135, 0.99, 6}
                            : Most{0.3,
                                   fraction * double(width),
                                   fraction * double(height),
                                   30,
                                   0.9,
                                   4};
  Expr image = call.arguments.at(4);
  if (call.function == "image.auto_augment") {
    const std::string& name = texts.at(0);
    std::istringstream rows(name == "imagenet"  ? kImagenetRows
                            : name == "cifar10" ? kCifar10Rows
                                                : kSvhnRows);
    std::string row;
    const auto chosen = static_cast<unsigned __int128>(first) * 25 >> 64;
    for (uint64_t k = 0; k <= chosen; ++k) std::getline(rows, row);
    std::istringstream words(row);
    for (uint64_t k = 0; k < 2; ++k) {
      Drawn drawn;
      double probability = 0, bin = 0;
      words >> drawn.op >> probability >> bin;
      const auto bits = block(k);
      drawn.part = bin / 9;
      drawn.negative = IsBelow(bits[2], 0.5);
      if (IsBelow(bits[0], probability))
        image = Applied(drawn, most, image, method);
    }
    return image;
  }
  const int64_t times = trivial ? 1 : numbers.empty() ? 2 : numbers[0];
  const int64_t bins = numbers.size() > 2 ? numbers[2] : 31;
  for (int64_t k = 0; k < times; ++k) {
    const auto bits = block(uint64_t(k));
    const int64_t bin = trivial ? int64_t(Scaled(bits[1], uint64_t(bins)))
                        : numbers.size() > 1 ? numbers[1]
                                             : 9;
    image = Applied({kOperations[Scaled(bits[0], 14)],
                     double(bin) / double(bins - 1), IsBelow(bits[2], 0.5)},
                    most, image, method);
  }
  return image;
}

}  // namespace feedmill::reference
