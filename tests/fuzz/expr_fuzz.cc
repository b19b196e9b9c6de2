// Any text is an expression or an error; an expression's canonical text is
// read back as itself, and typing it ends.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/dataset/expr.h"
#include "core/dataset/type_inference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expr = feedmill::Expr::Parse(text);
  if (!expr.ok()) return 0;
  const std::string canonical = expr->ToString();
  const auto again = feedmill::Expr::Parse(canonical);
  if (!again.ok() || again->ToString() != canonical) std::abort();
  const feedmill::ElementSpec spec = {{{"", feedmill::DType::kInt64, {}}}};
  (void)feedmill::InferType(*expr, spec, feedmill::FunctionRegistry());
  return 0;
}
