#ifndef FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_
#define FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk.h"
#include "core/dataset/expr.h"

namespace feedmill {

// The type of an expression: a component without a name, or a Python literal,
// which is weak (it takes the other operand's dtype if it can).
struct ValueType {
  DType dtype = DType::kInt64;
  Shape shape;
  bool weak = false;
  // The literal itself where the argument is one; functions such as cast or
  // full read their constant arguments here.
  std::optional<Expr::Literal> literal;
};

// The functions that expressions may call. An object, made in main() and
// passed on: a plugin or a test adds to it before anything runs. Immutable
// while shared.
//
// Thread-safety: const methods from any thread.
class FunctionRegistry {
 public:
  struct Function {
    // The result's type, or InvalidArgument saying what does not fit.
    std::function<absl::StatusOr<ValueType>(const std::vector<ValueType>&)>
        infer;
    // Computes `rows` rows; `out` has the inferred type. Called from many
    // threads at once. DataLoss for errors that are functions of the data.
    std::function<absl::Status(const std::vector<Column>& arguments,
                               size_t rows, const ValueType& type, Column& out)>
        compute;
    // Computing a row costs microseconds or more: blocks are one row.
    bool heavy = false;
  };




  void Add(std::string name, Function function);
  const Function* Find(std::string_view name) const;
  // The known name that is nearest to a misspelt one, or "".
  std::string Nearest(std::string_view name) const;

 private:
  std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_
