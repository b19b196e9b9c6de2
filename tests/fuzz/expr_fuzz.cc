// Any text is an expression or an error; an expression's canonical text is
// read back as itself, and typing it ends.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/dataset/type_inference.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/expr.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expr = feedmill::Expr::Parse(text);
  if (!expr.ok()) return 0;
  const std::string canonical = expr->ToString();
  const auto again = feedmill::Expr::Parse(canonical);
  if (!again.ok() || again->ToString() != canonical) std::abort();
  static const auto& functions =
      *new feedmill::FunctionRegistry(feedmill::BuiltinFunctions());
  const feedmill::ElementSpec spec = {
      {{"x", feedmill::DType::kInt64, {}},
       {"s", feedmill::DType::kBytes, {}},
       {"v", feedmill::DType::kFloat32, {feedmill::kUnknownDim, 3}}}};
  (void)feedmill::InferType(*expr, spec, functions);
  return 0;
}
