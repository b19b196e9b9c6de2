// The feedmill command with three more functions. sleep_ms(x, 10) returns x
// after 10 ms; it measures how waiting work scales over workers.
// sleep_value_ms(x, 1) returns x after x ms: records differ in their cost.
// die_at(x, 57) returns x, but ends the process if x is 57; it tests records
// that crash their reader.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "core/base/status.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dataset.h"
#include "tools/command/commands.h"

namespace {

using feedmill::Argument;
using feedmill::FunctionRegistry;
using feedmill::OutputColumn;
using feedmill::ValueType;

// Makes a function that calls `act(value, literal)` and returns its first
// argument.
FunctionRegistry::Function After(void (*act)(int64_t value, int64_t literal)) {
  FunctionRegistry::Function function;
  function.infer =
      [](const std::vector<ValueType>& arguments) -> absl::StatusOr<ValueType> {
    if (arguments.size() != 2 ||
        arguments[0].dtype != feedmill::DType::kInt64 ||
        !arguments[0].shape.empty() || !arguments[1].literal.has_value() ||
        !std::holds_alternative<int64_t>(arguments[1].literal->value)) {
      return absl::InvalidArgumentError("it takes an int64 and a literal");
    }
    ValueType type;
    type.dtype = feedmill::DType::kInt64;
    return type;
  };
  function.compute = [act](std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
    const int64_t literal =
        std::get<int64_t>(arguments[1].type->literal->value);
    out.Reset(type.dtype, {});
    const auto from = arguments[0].column->values.As<int64_t>();
    for (size_t row = 0; row < rows; ++row) {
      const int64_t value = from[arguments[0].constant ? 0 : row];
      act(value, literal);
      out.values.Push(value);
    }
    return absl::OkStatus();
  };
  function.heavy = true;
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  if (absl::Status added = feedmill::AddStores(); !added.ok()) {
    std::fprintf(stderr, "feedmill: %s\n", feedmill::ErrorText(added).c_str());
    return 2;
  }
  FunctionRegistry registry = feedmill::BuiltinFunctions();
  registry.Add("sleep_ms", After([](int64_t, int64_t ms) {
                 std::this_thread::sleep_for(std::chrono::milliseconds(ms));
               }));
  registry.Add(
      "sleep_value_ms", After([](int64_t value, int64_t unit) {
        if (value <= 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(value * unit));
      }));
  registry.Add("die_at", After([](int64_t value, int64_t killer) {
                 if (value == killer) std::raise(SIGKILL);
               }));
  return feedmill::FeedmillMain(argc, argv, std::move(registry));
}
