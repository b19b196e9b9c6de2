#ifndef FEEDMILL_TESTS_REFERENCE_AUGMENTATIONS_H_
#define FEEDMILL_TESTS_REFERENCE_AUGMENTATIONS_H_

#include <array>
#include <cstdint>
#include <functional>

#include "feedmill/expr.h"

namespace feedmill::reference {

// Returns the operations that a call of image.rand_augment,
// trivial_augment_wide or auto_augment draws for an image, as calls of other
// functions. The call has four words before its arguments; block(k) has further
// words. `first` are the first two words.
Expr Augmented(const Expr::Call& call, int64_t height, int64_t width,
               uint64_t first,
               const std::function<std::array<uint32_t, 4>(uint64_t)>& block);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_AUGMENTATIONS_H_
