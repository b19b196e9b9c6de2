#include "tests/reference/items.h"

#include <cmath>
#include <stdexcept>

namespace feedmill::reference {
Tensor& Find(Element& element, const std::string& name) {
  for (Component& c : element)
    if (c.name == name || c.name.empty()) return c.value;
  throw std::logic_error("no component " + name);
}

Tensor RecordOf(const Tensor& t, size_t k, size_t depth) {
  Tensor out{
      t.dtype,
      Shape(t.shape.begin() + static_cast<ptrdiff_t>(depth), t.shape.end()),
      {},
      {}};
  size_t each = 1;
  for (int64_t d : out.shape) each *= static_cast<size_t>(d);
  for (size_t j = k * each; j < (k + 1) * each; ++j) {
    if (t.dtype == DType::kBytes)
      out.strings.push_back(t.strings[j]);
    else
      out.numbers.push_back(t.numbers[j]);
  }
  return out;
}

Tensor Flip(const Tensor& image, bool horizontal) {
  Tensor out = image;
  const size_t h = static_cast<size_t>(image.shape[0]),
               w = static_cast<size_t>(image.shape[1]),
               c = static_cast<size_t>(image.shape[2]);
  for (size_t y = 0; y < h; ++y)
    for (size_t x = 0; x < w; ++x)
      for (size_t k = 0; k < c; ++k)
        out.numbers[(y * w + x) * c + k] =
            image.numbers[((horizontal ? y : h - 1 - y) * w +
                           (horizontal ? w - 1 - x : x)) *
                              c +
                          k];
  return out;
}

Tensor RandomFlip(const Tensor& image, const RandomFlipStep& step,
                  uint32_t word) {
  if (static_cast<double>(word) >= std::floor(step.probability * 4294967296.0))
    return image;
  return Flip(image, step.direction == RandomFlipStep::Direction::kHorizontal);
}

bool Has(const Element& element, const std::string& name) {
  for (const Component& c : element)
    if (c.name == name || c.name.empty()) return true;
  return false;
}

std::string TouchedName(const Step& step) {
  if (const auto* decode = step.As<DecodeImageStep>()) return decode->component;
  if (const auto* resize = step.As<ResizeStep>()) return resize->component;
  if (const auto* flip = step.As<RandomFlipStep>()) return flip->component;
  return "";
}

Tensor& Touched(const Step& step, Element& element) {
  const std::string name = TouchedName(step);
  return name.empty() ? element.at(0).value : Find(element, name);
}

}  // namespace feedmill::reference
