// The feedmill command with one function more, for measuring how work that is
// all waiting scales over workers: sleep_ms(x, 10) is x, 10 ms later.

#include <chrono>
#include <thread>

#include "core/ops/builtin_functions.h"
#include "tools/command/feedmill_command.h"

namespace {

using feedmill::Argument;
using feedmill::FunctionRegistry;
using feedmill::OutputColumn;
using feedmill::ValueType;

FunctionRegistry::Function SleepMs() {
  FunctionRegistry::Function function;
  function.infer =
      [](const std::vector<ValueType>& arguments) -> absl::StatusOr<ValueType> {
    if (arguments.size() != 2 ||
        arguments[0].dtype != feedmill::DType::kInt64 ||
        !arguments[0].shape.empty() || !arguments[1].literal.has_value() ||
        !std::holds_alternative<int64_t>(arguments[1].literal->value)) {
      return absl::InvalidArgumentError(
          "sleep_ms takes an int64 and a literal");
    }
    ValueType type;
    type.dtype = feedmill::DType::kInt64;
    return type;
  };
  function.compute = [](std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
    const auto each = std::chrono::milliseconds(
        std::get<int64_t>(arguments[1].type->literal->value));
    out.Reset(type.dtype, {});
    const auto from = arguments[0].column->values.As<int64_t>();
    for (size_t row = 0; row < rows; ++row) {
      std::this_thread::sleep_for(each);
      out.values.Push(from[arguments[0].constant ? 0 : row]);
    }
    return absl::OkStatus();
  };
  function.heavy = true;
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  FunctionRegistry registry = feedmill::BuiltinFunctions();
  registry.Add("sleep_ms", SleepMs());
  return feedmill::FeedmillMain(argc, argv, std::move(registry));
}
