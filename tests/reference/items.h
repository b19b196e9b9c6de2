#ifndef FEEDMILL_TESTS_REFERENCE_ITEMS_H_
#define FEEDMILL_TESTS_REFERENCE_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Returns the component of that name, or the unnamed one.
Tensor& Find(Element& element, const std::string& name);

bool Has(const Element& element, const std::string& name);

// Returns the component that a record step changes; "" for a message of
// tf.train.
std::string TouchedName(const Step& step);
// Returns that component, or the first one.
Tensor& Touched(const Step& step, Element& element);

// Returns record k of a tensor whose first `depth` axes are batches.
Tensor RecordOf(const Tensor& t, size_t k, size_t depth);

Tensor Flip(const Tensor& image, bool horizontal);
// Flips the image or not, depending on `word`.
Tensor RandomFlip(const Tensor& image, const RandomFlipStep& step,
                  uint32_t word);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_ITEMS_H_
