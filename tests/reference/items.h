#ifndef FEEDMILL_TESTS_REFERENCE_ITEMS_H_
#define FEEDMILL_TESTS_REFERENCE_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// The component of that name, or the unnamed one.
Tensor& Find(Element& element, const std::string& name);

bool Has(const Element& element, const std::string& name);

// The component that a step on records changes; "" for a message of tf.train.
std::string TouchedName(const Step& step);
// It, or the first.
Tensor& Touched(const Step& step, Element& element);

// Record k of a tensor whose first `depth` axes are batches.
Tensor RecordOf(const Tensor& t, size_t k, size_t depth);

Tensor Flip(const Tensor& image, bool horizontal);
// Flipped or as it is, as `word` falls.
Tensor RandomFlip(const Tensor& image, const RandomFlipStep& step,
                  uint32_t word);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_ITEMS_H_
