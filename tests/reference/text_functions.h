#ifndef FEEDMILL_TESTS_REFERENCE_TEXT_FUNCTIONS_H_
#define FEEDMILL_TESTS_REFERENCE_TEXT_FUNCTIONS_H_

#include <functional>
#include <optional>

#include "feedmill/expr.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Evaluates a function of bytes (strip, find, replace, split, substr,
// to_string, to_number, hash_bucket, hash_uniform, vocabulary,
// vocabulary_buckets, sentencepiece, decode_raw, re_match, re_extract,
// re_replace, json_field); nullopt for other functions. Patterns are common to
// RE2 and ECMAScript. Throws DataError.
std::optional<Tensor> TextFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_TEXT_FUNCTIONS_H_
