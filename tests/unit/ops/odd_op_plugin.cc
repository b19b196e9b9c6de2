// A faulty plugin for tests. The variable ODD_OP_PLUGIN selects the fault when
// it is loaded; if it is not set, the functions are faulty when called.

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "feedmill/plugin.h"

namespace {

int InferNumber(void*, const feedmill_op_type*, size_t,
                feedmill_op_result* result, feedmill_op_error*) {
  result->dtype = FEEDMILL_INT64;
  return FEEDMILL_OP_OK;
}
int InferList(void*, const feedmill_op_type*, size_t,
              feedmill_op_result* result, feedmill_op_error*) {
  result->dtype = FEEDMILL_BYTES;
  result->rank = 1;
  result->dims[0] = FEEDMILL_OP_UNKNOWN_DIM;
  return FEEDMILL_OP_OK;
}
int InferNonsense(void*, const feedmill_op_type*, size_t,
                  feedmill_op_result* result, feedmill_op_error*) {
  result->dtype = 99;
  return FEEDMILL_OP_OK;
}

// Fills each row with the number of rows of the call.
int ComputeRows(void*, const feedmill_op_column*, size_t, size_t rows,
                feedmill_op_output* output, feedmill_op_error*) {
  for (size_t row = 0; row < rows; ++row) {
    static_cast<int64_t*>(output->values)[row] = static_cast<int64_t>(rows);
  }
  return FEEDMILL_OP_OK;
}
int ComputeThrow(void*, const feedmill_op_column*, size_t, size_t,
                 feedmill_op_output*, feedmill_op_error*) {
  throw std::runtime_error("thrown");
}
int ComputeFail(void*, const feedmill_op_column*, size_t, size_t,
                feedmill_op_output*, feedmill_op_error*) {
  return FEEDMILL_OP_FAILED;
}
int ComputeNothing(void*, const feedmill_op_column*, size_t, size_t,
                   feedmill_op_output*, feedmill_op_error*) {
  return FEEDMILL_OP_OK;
}
// Makes rows of two items with one item each; the last row has two.
int ComputeTooFew(void*, const feedmill_op_column*, size_t, size_t rows,
                  feedmill_op_output* output, feedmill_op_error*) {
  const int64_t two = 2;
  for (size_t row = 0; row < rows; ++row) {
    output->row(output->sink, &two);
    output->item(output->sink, "a", 1);
  }
  return FEEDMILL_OP_OK;
}
int ComputeNegative(void*, const feedmill_op_column*, size_t, size_t rows,
                    feedmill_op_output* output, feedmill_op_error*) {
  const int64_t dim = -5;
  for (size_t row = 0; row < rows; ++row) output->row(output->sink, &dim);
  return FEEDMILL_OP_OK;
}

constexpr uint32_t kPure = FEEDMILL_OP_PURE;
constexpr feedmill_op kOps[] = {
    {"rows", 0, 3, nullptr, 0, nullptr, InferNumber, ComputeRows},
    {"throws", 1, 1, nullptr, kPure, nullptr, InferNumber, ComputeThrow},
    {"fails", 1, 1, nullptr, kPure, nullptr, InferNumber, ComputeFail},
    {"nothing", 1, 1, nullptr, kPure, nullptr, InferList, ComputeNothing},
    {"too_few", 1, 1, nullptr, kPure, nullptr, InferList, ComputeTooFew},
    {"negative", 1, 1, nullptr, kPure, nullptr, InferList, ComputeNegative},
    {"nonsense", 1, 1, nullptr, kPure, nullptr, InferNonsense, ComputeRows},
};

}  // namespace

extern "C" const feedmill_op_plugin* feedmill_op_plugin_entry(void) {
  static feedmill_op ops[sizeof(kOps) / sizeof(kOps[0])];
  static feedmill_op_plugin plugin;
  std::memcpy(ops, kOps, sizeof kOps);
  plugin = {FEEDMILL_OP_PLUGIN_ABI, "odd", "1.0", ops,
            sizeof kOps / sizeof kOps[0]};
  const char* variable = std::getenv("ODD_OP_PLUGIN");
  const std::string_view how = variable == nullptr ? "" : variable;
  if (how == "null") return nullptr;
  if (how == "abi") plugin.abi = 2;
  if (how == "version2") plugin.version = "2.0";
  if (how == "bad version") plugin.version = "2 0";
  if (how == "no name") plugin.name = nullptr;
  if (how == "no ops") plugin.op_count = 0;
  if (how == "no infer") ops[1].infer = nullptr;
  if (how == "no compute") ops[1].compute = nullptr;
  if (how == "bad op name") ops[1].name = "Throws";
  if (how == "twice") ops[1].name = "rows";
  if (how == "arity") ops[1].arguments_min = 2;
  if (how == "built-in") {
    plugin.name = "image";
    ops[1].name = "resize";
  }
  return &plugin;
}
