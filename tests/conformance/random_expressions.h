#ifndef FEEDMILL_TESTS_CONFORMANCE_RANDOM_EXPRESSIONS_H_
#define FEEDMILL_TESTS_CONFORMANCE_RANDOM_EXPRESSIONS_H_

#include <array>

// Expressions of random pipelines. Most fit few pipelines, so the generator
// tries until a step can be built.

namespace feedmill::testing {

inline constexpr std::array kMaps = {
    "decode_raw(to_string(x * x * 3), uint8)",  // various lengths
    "stack([decode_raw(to_string(x * 5), int8), decode_raw(to_string(x * 5), "
    "int8)], -1)",
    "decode_raw(to_string(index ** 3), int8)",
    "positions + segment_ids",
    "x_offsets",
    "x * x + 1",
    "x % 7",
    "x // 3 - 5",
    "x / 4",
    "cast(x, float32) * 0.5",
    "where(x % 2 == 0, x, -x)",
    "cast(x, uint8) + 100",
    "cast(x, int16) << 3",
    "clip(x, 3, 20)",
    "minimum(abs(x), 11)",
    "sum(x)",
    "max(x)",
    "full([2, 3], x)",
    "x[0]",
    "x[1:4]",
    "x[::-2]",
    "x[-3:x[0]]",
    "x[len(x) // 3:-1]",
    "x[::-1, 1:]",
    "image[1:5, ::2]",
    "image[..., 0]",
    "path[-8:]",
    "x[len(x) % 3::2]",
    "len(x)",
    "length(x[1:])",
    "shape(x)",
    "shape(image)[:2]",
    "pad_to(x, 12, 7)",
    "image @ [[1, 0], [2, 5], [0, 1]]",
    "stack([x, x + 1], -1) @ [0.5, 3]",
    "pad_to(x[:3], 5, x[0])",
    "pad_to(split(x), len(split(x)) + 2, '-')",
    "pad_to(image[:, :3], 4, 9, 1)",
    "-x ** 2",
    "sqrt(abs(x))",
    "x > 5",
    "length(x)",
    "lower(x)",
    "a + b",
    "where(b, a, 0)",
    "label * 2",
    "path",
    "split(x)",
    "split(path, '/')",
    "strip(x)",
    "find(x, 'a')",
    "replace(x, 'a', 'bcd')",
    "substr(x, -3, 2)",
    "to_string(x)",
    "to_number(to_string(x), uint8)",  // a data error below 0
    "hash_bucket(x, 10)",
    "vocabulary(x, 'words.txt', -1)",
    "vocabulary_buckets(path, 'words.txt', 3)",
    "sentencepiece(x, 'pieces.model')",
    "re_match(x, '[a-e]+$')",
    "re_extract(path, '([a-z]+)/([0-9]+)_', 2)",
    "re_replace(x, '([a-z])b', r'<\\1>')",
    "decode_raw(substr(image, 0, 8), uint16)",
    "[x, 'end']",
    "image.crop(image, 1, 0, 3, 4)",
    "image.central_crop(image, 4, 5)",
    "image.flip_left_right(image)",
    "image.flip_up_down(image)",
    "image.rot90(image, 1)",
    "image.to_chw(image)",
    "image.normalize(image, [120.5, 110, 100], [58.0, 57.5, 57])",
    "image.resize(image, 5, 6, 'area')",
    "image.resize(cast(image, float32), 9, 3, 'cubic')",
    "image.rotate(image, 33, 'bilinear')",
    "image.rotate(image, -101.5, 'nearest')",
    "cast(image, float32) / 255",
    "length(image)",
    "100 // (x - 13)",  // a data error if x is 13
    "[x, x + 1]",
    "concat(x, x * 2, 0)",
    "stack([x, -x, 1], -1)",
    "reshape(x, [-1])",
    "transpose(x)",
    "slice(x, [1], [2])",
    "gather(x, [0, -1])",
    "one_hot(x % 5, 5, int8)",
    "sum(x, 0)",
    "max(x, -1)",
    "argmin(x)",
    "cumsum(x)",
    "isfinite(1 / (x - 2))",
    "tanh(cast(x, float32))",
    "slice(image, [1, 0], [-1, 4])",
    "mean(image, -1)",
    "x + random.integers(-5, 10)",
    "x + random.integers(0, x)",  // a data error if x is not above 0
    "random.uniform()",
    "random.uniform(-x, x, [2, 3]) + random.normal()",
    "random.normal(x, 0.5, [4])",
    "where(random.uniform() < 0.3, 'masked', x)",
    "where(random.uniform(0, 1, [2, 3]) < 0.5, x, 0)",
    "image.random_crop(image, 3, 4)",
    "image.random_resized_crop(image, 6, 5)",
    "image.random_resized_crop(image, 4, 4, 0.2, 0.6, 0.5, 2)",
    "image.adjust_brightness(image, random.uniform(0.5, 1.5))",
    "image.adjust_contrast(image, random.uniform(0.5, 1.5))",
    "image.adjust_saturation(image.adjust_hue(image, random.uniform(-0.5, "
    "0.5)), random.uniform(0, 2))",
};
inline constexpr std::array kFilters = {
    "x % 3 != 0",
    "x > 4",
    "x < 0",
    "x == x",
    "sum(x) > 9",
    "length(x) % 2 == 0",
    "x >= 'b'",
    "a % 2 == 0",
    "not b",
    "label == 0",
    "1 < x <= 30",
    "random.uniform() < 0.7",
    "random.integers(0, 4) > 0 and random.integers(0, 4) > 0",
};

inline constexpr std::array kFlatMaps = {
    "split(x)", "[x, x + 1]", "x", "decode_raw(to_string(x * x * 3), uint8)",
    "one_hot(x % 5, 5, int8)"};
// Expressions with errors for some elements.
inline constexpr std::array kFailing = {
    "100 // (x - 13)", "100 // (x % 4)", "to_number(to_string(x), uint8)",
    "to_number(substr(x, 0, 1), int8)", "x // (cast(x, int64) % 3)"};

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_RANDOM_EXPRESSIONS_H_
