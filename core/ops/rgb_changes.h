#ifndef FEEDMILL_CORE_OPS_RGB_CHANGES_H_
#define FEEDMILL_CORE_OPS_RGB_CHANGES_H_

#include <cstdint>
#include <string_view>

#include "core/ops/image.h"

// Kernels of functions on one RGB image of bytes, for functions that choose
// among them. `to` has the size of the image, and is another memory.

namespace feedmill {

// The kernel of a function of color_functions.cc; the factor is in the range
// that the function takes, and ignored by functions that have none.
using RgbKernel = void (*)(const uint8_t* from, ImageSize size, double factor,
                           uint8_t* to);
// REQUIRES: there is a function "image.<name>" in color_functions.cc.
RgbKernel ColorKernel(std::string_view name);

// The arguments of torchvision's affine. Angles are in degrees.
struct AffineArguments {
  double angle = 0;  // clockwise
  double right = 0;
  double down = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
  bool about_corner = false;  // about (0, 0), not the centre
};
// image.affine. REQUIRES: a scale above 0, shears within -80 to 80, finite
// numbers up to kImageSideMax.
void AffineRgb(const uint8_t* from, ImageSize size,
               const AffineArguments& arguments, bool bilinear, uint8_t* to);
// image.rotate.
void RotateRgb(const uint8_t* from, ImageSize size, double degrees,
               bool bilinear, uint8_t* to);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_RGB_CHANGES_H_
