#ifndef FEEDMILL_TESTS_REFERENCE_IMAGE_RESIZING_H_
#define FEEDMILL_TESTS_REFERENCE_IMAGE_RESIZING_H_

#include <cstdint>
#include <utility>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// image.resize with 'antialias', of uint8 or float32: PyTorch's interpolate.
Tensor Antialiased(const Tensor& a, int64_t height, int64_t width, bool cubic);

// The height and width after the call image.resize_shorter or
// image.resize_longer. Throws DataError if a side has no pixel.
std::pair<int64_t, int64_t> SidesAfter(const Expr::Call& call, int64_t height,
                                       int64_t width);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_IMAGE_RESIZING_H_
