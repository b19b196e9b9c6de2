#include "core/ops/plugin_functions.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/dtype.h"
#include "core/ops/builtin_functions.h"
#include "core/ops/constant_column.h"
#include "core/ops/row_items.h"
#include "core/plugins/shared_object.h"
#include "feedmill/expr.h"
#include "feedmill/plugin.h"

namespace feedmill {
namespace {

constexpr char kEntryPoint[] = "feedmill_op_plugin_entry";
constexpr char kVariable[] = "FEEDMILL_OP_PLUGINS";
constexpr size_t kErrorMax = 300;  // bytes of an error text from a plugin
constexpr size_t kNameMax = 64;
constexpr size_t kArgumentsMax = 255;
constexpr int64_t kRowItemsMax = int64_t{1} << 40;

static_assert(FEEDMILL_BOOL == static_cast<int>(DType::kBool));
static_assert(FEEDMILL_INT64 == static_cast<int>(DType::kInt64));
static_assert(FEEDMILL_UINT8 == static_cast<int>(DType::kUInt8));
static_assert(FEEDMILL_FLOAT64 == static_cast<int>(DType::kFloat64));
static_assert(FEEDMILL_BFLOAT16 == static_cast<int>(DType::kBFloat16));
static_assert(FEEDMILL_BYTES == static_cast<int>(DType::kBytes));
static_assert(FEEDMILL_OP_UNKNOWN_DIM == kUnknownDim);

// ---- arguments of a plugin's op

feedmill_op_column Seen(const Column& column, bool constant) {
  feedmill_op_column seen{};
  seen.dtype = static_cast<int32_t>(column.dtype);
  seen.constant = constant ? 1 : 0;
  seen.rank = column.shape.size();
  seen.dims = column.shape.data();
  seen.values = column.values.data();
  const auto integers = [](const Buffer& buffer) {
    return buffer.size() == 0 ? nullptr
                              : reinterpret_cast<const int64_t*>(buffer.data());
  };
  seen.offsets = integers(column.offsets);
  seen.row_shapes = integers(column.row_shapes);
  seen.row_starts = integers(column.row_starts);
  if (!column.ragged()) seen.row_items = NumItems(column.shape);
  return seen;
}

class ErrorSink {
 public:
  ErrorSink() : error_{this, Say, 0} {}
  ErrorSink(const ErrorSink&) = delete;

  feedmill_op_error* get() { return &error_; }
  size_t row() const { return error_.row; }
  std::string_view text() const {
    return text_.empty() ? std::string_view("the plugin gives no reason")
                         : text_;
  }

 private:
  static void Say(void* sink, const char* text, size_t size) {
    auto* taken = static_cast<ErrorSink*>(sink);
    if (text != nullptr) taken->text_.assign(text, std::min(size, kErrorMax));
  }

  std::string text_;
  feedmill_op_error error_;
};

// Returns the constant of an argument as a column of one row.
std::optional<Column> ConstantOf(const ValueType& type) {
  if (type.literal) return ConstantColumn(*type.literal);
  if (!type.list) return std::nullopt;
  return MakeColumn(*type.list, {static_cast<int64_t>(type.list->size())});
}

bool IsKnown(const Shape& shape) { return !HasUnknownDim(shape); }

// Receives a plugin's result row by row, for results of unknown shape or of
// bytes.
class RowWriter {
 public:
  RowWriter(size_t rows, const ValueType& type, OutputColumn& out)
      : rows_(rows), type_(type), out_(out) {
    StartRows(type, /*ragged=*/!IsKnown(type.shape), out);
    if (IsKnown(type.shape)) {
      expected_ = static_cast<int64_t>(rows) * NumItems(type.shape);
      begun_ = rows;
    }
  }

  feedmill_op_output Output() { return {nullptr, this, Row, Item}; }

  // Rethrows the exception of a callback, if any.
  void Rethrow() const {
    if (refused_ != nullptr) std::rethrow_exception(refused_);
  }
  // Returns what is wrong with the result; empty if it is complete.
  std::string_view Fault() const {
    if (fault_ != nullptr) return fault_;
    if (begun_ != rows_) return "it made too few rows";
    if (type_.dtype == DType::kBytes && items_ != expected_) {
      return "it made too few items";
    }
    return "";
  }

 private:
  // Exceptions must not pass through a plugin's frames.
  static void* Row(void* sink, const int64_t* dims) {
    auto* const writer = static_cast<RowWriter*>(sink);
    try {
      return writer->BeginRow(dims);
    } catch (...) {
      return writer->Refused();
    }
  }
  static void Item(void* sink, const void* bytes, size_t size) {
    auto* const writer = static_cast<RowWriter*>(sink);
    try {
      writer->AddItem(bytes, size);
    } catch (...) {
      writer->Refused();
    }
  }

  std::byte* Refused() {
    if (refused_ == nullptr) refused_ = std::current_exception();
    return Failed("there was no memory for its rows");
  }

  std::byte* BeginRow(const int64_t* dims) {
    if (IsKnown(type_.shape)) return Failed("it began a row of known shape");
    if (begun_ == rows_) return Failed("it made too many rows");
    if (items_ != expected_) return Failed("it made too few items");
    int64_t items = 1;
    for (size_t k = 0; k < type_.shape.size(); ++k) {
      const int64_t wanted = type_.shape[k];
      if (dims == nullptr || dims[k] < 0 ||
          (wanted != kUnknownDim && wanted != dims[k]) ||
          __builtin_mul_overflow(items, dims[k], &items) ||
          items > kRowItemsMax) {
        return Failed("it made a row of another shape than it declared");
      }
    }
    ++begun_;
    EndRaggedRow({dims, type_.shape.size()}, out_);
    if (type_.dtype == DType::kBytes) {
      expected_ += items;
      return nullptr;
    }
    if (items == 0) return nullptr;
    return out_.values.Extend(static_cast<size_t>(items) *
                              ItemSize(type_.dtype));
  }

  void AddItem(const void* bytes, size_t size) {
    if (type_.dtype != DType::kBytes) {
      Failed("it made items of bytes");
    } else if (items_ == expected_) {
      Failed("it made too many items");
    } else {
      ++items_;
      out_.values.Append(bytes, size);
      out_.offsets.Push(static_cast<int64_t>(out_.values.size()));
    }
  }

  std::byte* Failed(const char* fault) {
    if (fault_ == nullptr) fault_ = fault;
    return nullptr;
  }

  const size_t rows_;
  const ValueType& type_;
  OutputColumn& out_;
  size_t begun_ = 0;
  int64_t items_ = 0;     // items of bytes appended
  int64_t expected_ = 0;  // items of bytes in all rows begun
  const char* fault_ = nullptr;
  std::exception_ptr refused_;
};

// ---- an op as a feedmill function; copies share it

class PluginOp {
 public:
  PluginOp(const feedmill_op_plugin& plugin, const feedmill_op& op)
      : op_(op),
        name_(fmt::format("{}.{}", plugin.name, op.name)),
        plugin_(fmt::format("{} {}", plugin.name, plugin.version)) {}

  const std::string& name() const { return name_; }
  const std::string& plugin() const { return plugin_; }

  absl::StatusOr<ValueType> Infer(const std::vector<ValueType>& given) const {
    FM_RETURN_IF_ERROR(CheckCount(given.size()));
    std::vector<std::optional<Column>> constants(given.size());
    std::vector<feedmill_op_column> columns(given.size());
    std::vector<feedmill_op_type> types(given.size());
    for (size_t k = 0; k < given.size(); ++k) {
      constants[k] = ConstantOf(given[k]);
      if (op_.kinds != nullptr && op_.kinds[k] == FEEDMILL_OP_CONSTANT &&
          !constants[k]) {
        return InvalidArgument(
            "{}: argument {} is a constant, a number or text as it is written",
            name_, k + 1);
      }
      types[k] = {static_cast<int32_t>(given[k].dtype), given[k].weak ? 1 : 0,
                  given[k].shape.size(), given[k].shape.data(), nullptr};
      if (!constants[k]) continue;
      columns[k] = Seen(*constants[k], true);
      types[k].constant = &columns[k];
    }
    feedmill_op_result result{};
    ErrorSink error;
    int status = FEEDMILL_OP_FAILED;
    try {
      status = op_.infer(op_.state, types.data(), types.size(), &result,
                         error.get());
    } catch (...) {
      return Internal("{} of the plugin {} threw an exception", name_, plugin_);
    }
    if (status != FEEDMILL_OP_OK) {
      return InvalidArgument("{}: {}", name_, error.text());
    }
    return TypeOf(result);
  }

  absl::Status Compute(std::span<const Argument> arguments, size_t rows,
                       const ValueType& type, OutputColumn& out) const {
    std::vector<feedmill_op_column> columns;
    columns.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      columns.push_back(Seen(*argument.column, argument.constant));
    }
    if (type.dtype == DType::kBytes || !IsKnown(type.shape)) {
      RowWriter writer(rows, type, out);
      feedmill_op_output output = writer.Output();
      const absl::Status called = Call(columns, rows, output, out);
      writer.Rethrow();
      FM_RETURN_IF_ERROR(called);
      if (!writer.Fault().empty()) return Broken(writer.Fault());
    } else {
      out.Reset(type.dtype, type.shape);
      const size_t bytes = rows * static_cast<size_t>(NumItems(type.shape)) *
                           ItemSize(type.dtype);
      std::byte none;  // NULL would mean a result row by row
      feedmill_op_output output{bytes == 0 ? &none : out.values.Extend(bytes),
                                nullptr, nullptr, nullptr};
      FM_RETURN_IF_ERROR(Call(columns, rows, output, out));
    }
    if (type.dtype == DType::kBool) {
      auto* values = out.values.As<uint8_t>();
      std::for_each(values, values + out.values.size(),
                    [](uint8_t& value) { value = value != 0 ? 1 : 0; });
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckCount(size_t given) const {
    const size_t min = op_.arguments_min;
    const size_t max = op_.arguments_max;
    if (given >= min && given <= max) return absl::OkStatus();
    return InvalidArgument(
        "{} takes {} argument{}, not {}", name_,
        min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max),
        max == 1 ? "" : "s", given);
  }

  absl::StatusOr<ValueType> TypeOf(const feedmill_op_result& result) const {
    if (result.dtype < 0 || result.dtype > 0xff ||
        !IsDTypeCode(static_cast<uint8_t>(result.dtype))) {
      return Broken(fmt::format("{} is no dtype", result.dtype));
    }
    if (result.rank > FEEDMILL_OP_RANK_MAX) {
      return Broken(fmt::format("its result has {} dimensions", result.rank));
    }
    ValueType type;
    type.dtype = static_cast<DType>(result.dtype);
    type.shape.assign(result.dims, result.dims + result.rank);
    int64_t items = 1;
    for (const int64_t dim : type.shape) {
      const int64_t known = dim == kUnknownDim ? 1 : dim;
      if (known < 0 || __builtin_mul_overflow(items, known, &items) ||
          items > kRowItemsMax) {
        return Broken(fmt::format("its result is {}{}", DTypeName(type.dtype),
                                  ShapeToString(type.shape)));
      }
    }
    return type;
  }

  absl::Status Call(const std::vector<feedmill_op_column>& columns, size_t rows,
                    feedmill_op_output& output, OutputColumn& out) const {
    ErrorSink error;
    int status = FEEDMILL_OP_FAILED;
    try {
      status = op_.compute(op_.state, columns.data(), columns.size(), rows,
                           &output, error.get());
    } catch (...) {
      return Broken("it threw an exception");
    }
    if (status == FEEDMILL_OP_OK) return absl::OkStatus();
    if (status == FEEDMILL_OP_BAD_DATA && error.row() < rows) {
      out.failed_row = error.row();
      return DataLoss("{}: {}", name_, error.text());
    }
    out.failed_row = 0;
    return Internal("{} of the plugin {} failed: {}", name_, plugin_,
                    error.text());
  }

  absl::Status Broken(std::string_view fault) const {
    return Internal("{} of the plugin {} breaks the rules of plugin.h: {}",
                    name_, plugin_, fault);
  }

  const feedmill_op op_;
  const std::string name_;
  const std::string plugin_;
};

// ---- loading

bool IsName(const char* text) {
  if (text == nullptr) return false;
  const std::string_view name = text;
  return !name.empty() && name.size() <= kNameMax && name[0] >= 'a' &&
         name[0] <= 'z' && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool IsVersion(const char* text) {
  if (text == nullptr) return false;
  const std::string_view version = text;
  return !version.empty() && version.size() <= kNameMax &&
         std::all_of(version.begin(), version.end(),
                     [](char c) { return c > ' ' && c < '\x7f'; });
}

absl::Status CheckOp(const feedmill_op_plugin& plugin, size_t index,
                     const FunctionRegistry& registry) {
  const feedmill_op& op = plugin.ops[index];
  if (!IsName(op.name)) {
    return InvalidArgument(
        "the name of op {} is missing or is not of lower-case letters, digits "
        "and '_'",
        index);
  }
  const std::string name = fmt::format("{}.{}", plugin.name, op.name);
  if (op.infer == nullptr || op.compute == nullptr) {
    return InvalidArgument("{} has no {}", name,
                           op.infer == nullptr ? "infer" : "compute");
  }
  if (op.arguments_min > op.arguments_max || op.arguments_max > kArgumentsMax) {
    return InvalidArgument("{} takes {} to {} arguments, which is not possible",
                           name, op.arguments_min, op.arguments_max);
  }
  const FunctionRegistry::Function* const other = registry.Find(name);
  if (other != nullptr) {
    return InvalidArgument("there is a function {} already, {}", name,
                           other->plugin.empty()
                               ? std::string("a built-in one")
                               : "of the plugin " + other->plugin);
  }
  return absl::OkStatus();
}

absl::Status CheckPlugin(const feedmill_op_plugin* plugin) {
  if (plugin == nullptr) {
    return InvalidArgument("its {} returned nothing", kEntryPoint);
  }
  if (plugin->abi != FEEDMILL_OP_PLUGIN_ABI) {
    return InvalidArgument(
        "it was built for version {} of plugin.h, and this feedmill has "
        "version {}: build it again with this feedmill's header",
        plugin->abi, FEEDMILL_OP_PLUGIN_ABI);
  }
  if (!IsName(plugin->name)) {
    return InvalidArgument(
        "its name is missing or is not of lower-case letters, digits and '_'");
  }
  if (!IsVersion(plugin->version)) {
    return InvalidArgument(
        "its version is missing or is not of printable ASCII without spaces");
  }
  if (plugin->ops == nullptr || plugin->op_count == 0) {
    return InvalidArgument("it has no ops");
  }
  return absl::OkStatus();
}

FunctionRegistry::Function FunctionOf(std::shared_ptr<const PluginOp> op,
                                      uint32_t flags) {
  FunctionRegistry::Function function;
  function.infer = [op](const std::vector<ValueType>& given) {
    return op->Infer(given);
  };
  function.compute = [op](std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
    return op->Compute(arguments, rows, type, out);
  };
  function.heavy = (flags & FEEDMILL_OP_HEAVY) != 0;
  function.pure = (flags & FEEDMILL_OP_PURE) != 0;
  function.plugin = op->plugin();
  return function;
}

}  // namespace

absl::Status AddOpPlugin(const std::string& path, FunctionRegistry* registry) {
  FM_ASSIGN_OR_RETURN(SharedObject object, SharedObject::Load(path));
  const auto entry = object.Find<feedmill_op_plugin_entry_type>(kEntryPoint);
  if (entry == nullptr) {
    return InvalidArgument("{} is no op plugin: it has no {}", path,
                           kEntryPoint);
  }
  const feedmill_op_plugin* const plugin = entry();
  const std::string where = fmt::format("the plugin {}", path);
  FM_RETURN_IF_ERROR(Annotate(CheckPlugin(plugin), where));
  // Adds all functions or none.
  FunctionRegistry added = *registry;
  for (size_t k = 0; k < plugin->op_count; ++k) {
    FM_RETURN_IF_ERROR(Annotate(CheckOp(*plugin, k, added), where));
    auto op = std::make_shared<const PluginOp>(*plugin, plugin->ops[k]);
    const std::string name = op->name();
    added.Add(name, FunctionOf(std::move(op), plugin->ops[k].flags));
  }
  *registry = std::move(added);
  object.Keep();
  return absl::OkStatus();
}

absl::Status AddOpPlugins(const std::string& where, const std::string& paths,
                          FunctionRegistry* registry) {
  return AddPlugins(where, paths, [&](const std::string& path) {
    return AddOpPlugin(path, registry);
  });
}

absl::Status AddOpPluginsOfEnvironment(FunctionRegistry* registry) {
  const char* const paths = std::getenv(kVariable);
  if (paths == nullptr) return absl::OkStatus();
  return AddOpPlugins(fmt::format("the variable {}", kVariable), paths,
                      registry);
}

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> LoadFunctions(
    const std::vector<std::string>& plugins) {
  auto functions = std::make_shared<FunctionRegistry>(BuiltinFunctions());
  for (const std::string& path : plugins) {
    FM_RETURN_IF_ERROR(AddOpPlugin(path, functions.get()));
  }
  return std::shared_ptr<const FunctionRegistry>(std::move(functions));
}

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> DefaultFunctions() {
  auto functions = std::make_shared<FunctionRegistry>(BuiltinFunctions());
  FM_RETURN_IF_ERROR(AddOpPluginsOfEnvironment(functions.get()));
  return std::shared_ptr<const FunctionRegistry>(std::move(functions));
}

}  // namespace feedmill
