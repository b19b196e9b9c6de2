#ifndef FEEDMILL_PYTHON_SRC_THUMBNAIL_H_
#define FEEDMILL_PYTHON_SRC_THUMBNAIL_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace feedmill::python {

// Width, height and the rows of RGB pixels.
using Thumbnail = std::tuple<int64_t, int64_t, nanobind::bytes>;

// Returns an encoded image in a size of at most `side` by `side` pixels;
// nullopt if the bytes are no image that can be decoded.
std::optional<Thumbnail> ThumbnailOf(std::string_view bytes, int64_t side);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_THUMBNAIL_H_
