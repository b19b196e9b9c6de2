#ifndef FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_
#define FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "core/dataset/image_box.h"
#include "feedmill/element.h"
#include "feedmill/expr.h"

namespace feedmill {

class PythonFunctions;  // core/dataset/python_functions.h

// The type of an expression: a component without a name, or a constant.
//
// Types of leaves:
//   component  its dtype and shape.
//   literal    bool → kBool, int64_t → kInt64, uint64_t → kUInt64 (only above
//              the int64 range), double → kFloat64: scalar, weak, with
//              `literal`. A string → kBytes, scalar, not weak, with `literal`.
//   dtype name an Expr::Component that names a dtype ("float32") and no
//              component of the element is the bytes literal of that name,
//              at any place: cast(x, float32).
//   list       [a, b] is the call list(a, b) of integer literals; its type has
//              `list`: full([2, 3], 0).
// A call whose inferred type has `literal` *is* that literal: negative(1) is
// the weak literal -1, as in Python. Its arguments are not computed.
struct ValueType {
  DType dtype = DType::kInt64;
  Shape shape;
  bool weak = false;  // takes the other operand's dtype, as in NEP 50
  // The value of a constant; functions such as cast read constant arguments
  // here.
  std::optional<Expr::Literal> literal;
  std::optional<Shape> list;
  // The values of a list of number literals; empty for other types.
  std::vector<double> constants{};
  // Set by InferCall, not by functions.
  LogicalType logical = LogicalType::kNone;
};

// An argument of a call at run time.
struct Argument {
  const ValueType* type = nullptr;  // as passed to infer
  // `rows` rows, or one row for all of them if `constant`. A literal is a
  // constant column of its dtype above (see ConstantColumn in
  // core/ops/constant_column.h). A call with only constant arguments may be
  // computed once, for one row, and passed on as a constant.
  const Column* column = nullptr;
  bool constant = false;
};

// The type of the additional first argument of a random function: a Philox
// block, keyed by seed, iteration, epoch, step and call.
inline ValueType RandomBitsType() {
  ValueType type;
  type.dtype = DType::kUInt32;
  type.shape = {4};
  return type;
}

// The result of a function. It keeps its memory from block to block. Not
// thread-safe.
struct OutputColumn {
  DType dtype = DType::kInt64;
  Shape shape;  // as Column::shape: of each row, if uniform
  BufferBuilder values;
  BufferBuilder offsets;     // kBytes: items + 1
  BufferBuilder row_shapes;  // ragged only
  BufferBuilder row_starts;  // ragged only: rows + 1
  // After DataLoss: the first row that failed; all earlier rows are good.
  // Computing only the earlier rows again succeeds.
  size_t failed_row = 0;
  // Images: the pixels that are read; the others may be left as they are. Null:
  // all.
  BoxOfImage needed{};

  // Empties the column for a result of that type; keeps the memory.
  void Reset(DType new_dtype, const Shape& new_shape) {
    dtype = new_dtype;
    shape = new_shape;
    values.Truncate(0);
    offsets.Truncate(0);
    row_shapes.Truncate(0);
    row_starts.Truncate(0);
  }
  // Returns the result without a copy; valid until *this is changed or
  // destroyed.
  const Column& View() {
    view_.dtype = dtype;
    view_.shape = shape;
    view_.values = Buffer(nullptr, values.data(), values.size());
    view_.offsets = Buffer(nullptr, offsets.data(), offsets.size());
    view_.row_shapes = Buffer(nullptr, row_shapes.data(), row_shapes.size());
    view_.row_starts = Buffer(nullptr, row_starts.data(), row_starts.size());
    return view_;
  }
  // Returns the result with its memory; *this is empty afterwards.
  Column Take() {
    return Column{dtype,
                  shape,
                  std::move(values).Freeze(),
                  std::move(offsets).Freeze(),
                  std::move(row_shapes).Freeze(),
                  std::move(row_starts).Freeze()};
  }

 private:
  Column view_;
};

// Describes functions for users: a row of the table in docs/expressions.md,
// which tools/step_pages writes. `feedmill functions` prints it, and Python's
// help. It stands where the functions are added.
struct FunctionDescription {
  std::vector<std::string_view> names;
  // Calls in Markdown, as "`sum(a)` `prod(a)`".
  std::string_view written;
  std::string_view notes;
};

// The functions that expressions may call. main() makes the registry and passes
// it on; plugins and tests add functions before anything runs. Immutable while
// shared.
//
// Thread-safety: const methods from any thread.
class FunctionRegistry {
 public:
  // A function keeps the characters of its texts whole: of all, of items of
  // arrays only, or of none.
  enum class Texts { kWhole, kOneIsBroken, kBroken };
  struct Function {
    // Returns the result's type, or InvalidArgument if the arguments do not
    // fit.
    std::function<absl::StatusOr<ValueType>(const std::vector<ValueType>&)>
        infer;
    // Computes `rows` rows into `out`, which it resets; `type` is the inferred
    // type. If its shape has unknown dims, the result is uniform or ragged,
    // depending on the rows. No argument is a view of `out`. Called from many
    // threads at once.
    // DataLoss, with out.failed_row, for errors that depend on the data only.
    // The message does not name the row, because row numbers depend on
    // scheduling; the caller names it.
    std::function<absl::Status(std::span<const Argument> arguments, size_t rows,
                               const ValueType& type, OutputColumn& out)>
        compute;
    // Computing a row takes microseconds or more: blocks have one row.
    bool heavy = false;
    // A random choice: its first argument is not written in the expression, but
    // is the row's random bits, uint32[4] (RandomBitsType()). Each written call
    // has its own bits; the same row always gets the same bits.
    bool random = false;
    // Equal arguments give equal results, so that one call may replace many.
    bool pure = true;
    // Name and version of its plugin: "example 1.0"; empty for a built-in
    // function. Part of the fingerprint of pipelines that call it.
    std::string plugin{};
    // Takes long for each byte of its arguments: filters run before it.
    bool slow = false;
    // Reads one box of the images of argument 0 (of a random function: 1) and
    // returns it for a row; the other arguments are as in `compute`. The images
    // have one size in each row. Null: all pixels are read.
    std::function<std::optional<ImageBox>(std::span<const Argument> arguments,
                                          size_t row, ImageSize image)>
        box{};
    // The result's pixels are pixels of this argument, unchanged.
    bool moves_pixels = false;
    // Each pixel of the result depends on the same pixel of argument 0. The
    // other arguments are one number, or one for each channel.
    bool by_pixel = false;
    // Makes only the pixels that OutputColumn::needed asks for.
    bool makes_boxes = false;
    // True for image.to_chw.
    bool to_chw = false;
    // Makes image.to_chw of the result of this function at once. Null: nothing
    // does.
    std::shared_ptr<const Function> in_chw{};
    // Says if a result of bytes is text when the arguments are.
    Texts texts = Texts::kWhole;
  };

  void Add(std::string name, Function function);
  // Returns nullptr for an unknown name.
  const Function* Find(std::string_view name) const;
  // Returns all names, sorted.
  std::vector<std::string_view> Names() const;

  // Adds a description of added functions. REQUIRES: its texts live as long as
  // the process.
  void Describe(FunctionDescription description) {
    descriptions_.push_back(std::move(description));
  }
  const std::vector<FunctionDescription>& descriptions() const {
    return descriptions_;
  }
  // Returns the descriptions of a function as plain text, two lines each: the
  // calls, and the notes. For a function of a plugin, names the plugin.
  // REQUIRES: there is a function of that name.
  std::string HelpOf(std::string_view name) const;

  // Runs the Python functions of steps in this process. Null: it runs none.
  void AllowPython(std::shared_ptr<PythonFunctions> python) {
    python_ = std::move(python);
  }
  const std::shared_ptr<PythonFunctions>& python() const { return python_; }

 private:
  std::map<std::string, Function, std::less<>> functions_;
  std::vector<FunctionDescription> descriptions_;
  std::shared_ptr<PythonFunctions> python_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_FUNCTION_REGISTRY_H_
