// Three functions for expressions; docs/plugins.md explains them:
//   example.scale(x, 2.5)   x (float32 or float64, any shape) times a constant
//   example.ratio(a, b)     a / b of integers as float64; b = 0 is bad data
//   example.words(s)        the words of a text, bytes[?]

#include <cstring>
#include <string>

#include "feedmill/plugin.h"

namespace {

int Fail(feedmill_op_error* error, const std::string& why,
         int status = FEEDMILL_OP_FAILED) {
  error->say(error->sink, why.data(), why.size());
  return status;
}

// ---- example.scale(x, factor)

int InferScale(void*, const feedmill_op_type* arguments, size_t,
               feedmill_op_result* result, feedmill_op_error* error) {
  const feedmill_op_type& x = arguments[0];
  const int32_t factor = arguments[1].dtype;
  if (x.dtype != FEEDMILL_FLOAT32 && x.dtype != FEEDMILL_FLOAT64) {
    return Fail(error, "the first argument is float32 or float64");
  }
  if (factor != FEEDMILL_FLOAT64 && factor != FEEDMILL_INT64) {
    return Fail(error, "the factor is a number");
  }
  if (x.rank > FEEDMILL_OP_RANK_MAX) return Fail(error, "too many dimensions");
  result->dtype = x.dtype;
  result->rank = x.rank;
  for (size_t k = 0; k < x.rank; ++k) result->dims[k] = x.dims[k];
  return FEEDMILL_OP_OK;
}

double Number(const feedmill_op_column& constant) {
  if (constant.dtype == FEEDMILL_FLOAT64) {
    return *static_cast<const double*>(constant.values);
  }
  return static_cast<double>(*static_cast<const int64_t*>(constant.values));
}

template <class T>
void Scale(const T* from, int64_t items, double factor, T* to) {
  for (int64_t k = 0; k < items; ++k) {
    to[k] = from[k] * static_cast<T>(factor);
  }
}

template <class T>
int ScaleRows(const feedmill_op_column& x, double factor, size_t rows,
              feedmill_op_output* output, feedmill_op_error* error) {
  const T* from = static_cast<const T*>(x.values);
  const auto row_of = [&](size_t row) { return x.constant != 0 ? 0 : row; };
  // If the rows have one known shape and are contiguous, scale them all at
  // once.
  if (output->values != nullptr && x.row_starts == nullptr && x.constant == 0) {
    Scale(from, static_cast<int64_t>(rows) * x.row_items, factor,
          static_cast<T*>(output->values));
    return FEEDMILL_OP_OK;
  }
  T* to = static_cast<T*>(output->values);
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row_of(row);
    const bool ragged = x.row_starts != nullptr;
    const int64_t begin =
        ragged ? x.row_starts[at] : static_cast<int64_t>(at) * x.row_items;
    const int64_t items = ragged ? x.row_starts[at + 1] - begin : x.row_items;
    T* place = to;
    if (output->values == nullptr) {  // unknown dimensions
      const int64_t* dims = ragged ? x.row_shapes + at * x.rank : x.dims;
      place = static_cast<T*>(output->row(output->sink, dims));
      if (place == nullptr && items > 0) return Fail(error, "no memory");
    } else {
      to += items;
    }
    Scale(from + begin, items, factor, place);
  }
  return FEEDMILL_OP_OK;
}

int ComputeScale(void*, const feedmill_op_column* arguments, size_t,
                 size_t rows, feedmill_op_output* output,
                 feedmill_op_error* error) {
  const feedmill_op_column& x = arguments[0];
  const double factor = Number(arguments[1]);
  return x.dtype == FEEDMILL_FLOAT32
             ? ScaleRows<float>(x, factor, rows, output, error)
             : ScaleRows<double>(x, factor, rows, output, error);
}

// ---- example.ratio(a, b)

int InferRatio(void*, const feedmill_op_type* arguments, size_t,
               feedmill_op_result* result, feedmill_op_error* error) {
  for (size_t k = 0; k < 2; ++k) {
    if (arguments[k].dtype != FEEDMILL_INT64 || arguments[k].rank != 0) {
      return Fail(error, "both arguments are one int64");
    }
  }
  result->dtype = FEEDMILL_FLOAT64;
  return FEEDMILL_OP_OK;  // a scalar: rank 0
}

int ComputeRatio(void*, const feedmill_op_column* arguments, size_t,
                 size_t rows, feedmill_op_output* output,
                 feedmill_op_error* error) {
  const auto* a = static_cast<const int64_t*>(arguments[0].values);
  const auto* b = static_cast<const int64_t*>(arguments[1].values);
  const size_t a_step = arguments[0].constant != 0 ? 0 : 1;
  const size_t b_step = arguments[1].constant != 0 ? 0 : 1;
  auto* to = static_cast<double*>(output->values);
  for (size_t row = 0; row < rows; ++row) {
    const int64_t divisor = b[row * b_step];
    if (divisor == 0) {
      error->row = row;
      return Fail(error, "the divisor is 0", FEEDMILL_OP_BAD_DATA);
    }
    to[row] =
        static_cast<double>(a[row * a_step]) / static_cast<double>(divisor);
  }
  return FEEDMILL_OP_OK;
}

// ---- example.words(s)

int InferWords(void*, const feedmill_op_type* arguments, size_t,
               feedmill_op_result* result, feedmill_op_error* error) {
  if (arguments[0].dtype != FEEDMILL_BYTES || arguments[0].rank != 0) {
    return Fail(error, "the argument is one bytes value");
  }
  result->dtype = FEEDMILL_BYTES;
  result->rank = 1;
  result->dims[0] = FEEDMILL_OP_UNKNOWN_DIM;
  return FEEDMILL_OP_OK;
}

// Calls take(begin, size) for each word.
template <class Take>
void ForEachWord(const char* text, size_t size, const Take& take) {
  for (size_t at = 0; at < size;) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const void* found = std::memchr(text + at, ' ', size - at);
    const size_t end =
        found == nullptr
            ? size
            : static_cast<size_t>(static_cast<const char*>(found) - text);
    take(text + at, end - at);
    at = end;
  }
}

int ComputeWords(void*, const feedmill_op_column* arguments, size_t,
                 size_t rows, feedmill_op_output* output, feedmill_op_error*) {
  const feedmill_op_column& s = arguments[0];
  const char* const bytes = static_cast<const char*>(s.values);
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = s.constant != 0 ? 0 : row;
    const size_t item =
        s.row_starts != nullptr ? static_cast<size_t>(s.row_starts[at]) : at;
    const char* const text = bytes + s.offsets[item];
    const auto size =
        static_cast<size_t>(s.offsets[item + 1] - s.offsets[item]);
    int64_t count = 0;
    ForEachWord(text, size, [&](const char*, size_t) { ++count; });
    output->row(output->sink, &count);
    ForEachWord(text, size, [&](const char* word, size_t length) {
      output->item(output->sink, word, length);
    });
  }
  return FEEDMILL_OP_OK;
}

// ---- the plugin's table of functions

constexpr feedmill_op_argument kScaleKinds[] = {FEEDMILL_OP_VALUE,
                                                FEEDMILL_OP_CONSTANT};

constexpr feedmill_op kOps[] = {
    {"scale", 2, 2, kScaleKinds, FEEDMILL_OP_PURE, nullptr, InferScale,
     ComputeScale},
    {"ratio", 2, 2, nullptr, FEEDMILL_OP_PURE, nullptr, InferRatio,
     ComputeRatio},
    {"words", 1, 1, nullptr, FEEDMILL_OP_PURE, nullptr, InferWords,
     ComputeWords},
};

constexpr feedmill_op_plugin kPlugin = {FEEDMILL_OP_PLUGIN_ABI, "example",
                                        "1.0", kOps,
                                        sizeof(kOps) / sizeof(kOps[0])};

}  // namespace

extern "C" const feedmill_op_plugin* feedmill_op_plugin_entry(void) {
  return &kPlugin;
}
