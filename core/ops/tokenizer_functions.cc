#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/lookup_functions.h"
#include "core/ops/row_items.h"
#include "core/ops/tokenizer.h"

namespace feedmill {
namespace {

constexpr std::string_view kTokenize = "tokenize";
constexpr std::string_view kDetokenize = "detokenize";

// Checks the file and the bool after the first argument.
absl::Status CheckOptions(std::string_view function,
                          const std::vector<ValueType>& given) {
  if (given.size() != 2) {
    FM_RETURN_IF_ERROR(ExpectArguments(function, given.size(), 3));
    const auto& special = given[2].literal;
    if (!special || !std::holds_alternative<bool>(special->value)) {
      return InvalidArgument(
          "{}: its third argument is True or False: with or without special "
          "tokens",
          function);
    }
  }
  FM_ASSIGN_OR_RETURN(
      const std::string path,
      ConstantText(fmt::format("{}: the file", function), given[1]));
  if (path.empty()) {
    return InvalidArgument("{}: the file has no name", function);
  }
  return absl::OkStatus();
}

bool WithSpecial(std::span<const Argument> arguments, bool otherwise) {
  return arguments.size() > 2
             ? std::get<bool>(arguments[2].type->literal->value)
             : otherwise;
}

absl::StatusOr<const Tokenizer*> Loaded(std::string_view function,
                                        const LoadedFiles& files,
                                        std::span<const Argument> arguments) {
  const auto& path = std::get<std::string>(arguments[1].type->literal->value);
  const auto found = files.tokenizers.find(path);
  if (found != files.tokenizers.end()) return found->second.get();
  return Internal("{}: {} was not loaded", function, path);
}

absl::StatusOr<ValueType> InferTokenize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(CheckOptions(kTokenize, given));
  if (given[0].dtype != DType::kBytes || !given[0].shape.empty()) {
    return InvalidArgument("{} takes one text a row, not {}{}", kTokenize,
                           DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  ValueType result;
  result.dtype = DType::kInt32;
  result.shape = {kUnknownDim};
  return result;
}

absl::StatusOr<ValueType> InferDetokenize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(CheckOptions(kDetokenize, given));
  if (!IsInteger(given[0].dtype) || given[0].shape.size() != 1) {
    return InvalidArgument("{} takes the token ids of a row, not {}{}",
                           kDetokenize, DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  ValueType result;
  result.dtype = DType::kBytes;
  return result;
}

absl::Status Tokenize(const LoadedFiles& files,
                      std::span<const Argument> arguments, size_t rows,
                      const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kTokenize, files, arguments));
  const bool special = WithSpecial(arguments, true);
  StartRows(type, /*ragged=*/true, out);
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const size_t begin = out.values.size();
    const absl::Status made =
        tokenizer->Encode(from.BytesAt(from.RowStart(RowOf(arguments[0], row))),
                          special, out.values);
    if (!made.ok()) {
      out.failed_row = row;
      return Annotate(made, std::string(kTokenize));
    }
    const auto count =
        static_cast<int64_t>((out.values.size() - begin) / sizeof(int32_t));
    EndRaggedRow({&count, 1}, out);
  }
  return absl::OkStatus();
}

absl::Status Detokenize(const LoadedFiles& files,
                        std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kDetokenize, files, arguments));
  const bool special = WithSpecial(arguments, false);
  StartRows(type, /*ragged=*/false, out);
  const Column& from = *arguments[0].column;
  std::vector<int64_t> wide;
  std::vector<int32_t> ids;
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = RowOf(arguments[0], row);
    wide.resize(static_cast<size_t>(from.RowItems(at)));
    ConvertItems(from.dtype,
                 from.values.data() + static_cast<size_t>(from.RowStart(at)) *
                                          ItemSize(from.dtype),
                 DType::kInt64, wide.data(), wide.size());
    ids.clear();
    for (const int64_t id : wide) {
      if (id < 0 || id > INT32_MAX) {
        out.failed_row = row;
        return DataLoss("{}: {} is no token id", kDetokenize, id);
      }
      ids.push_back(static_cast<int32_t>(id));
    }
    const absl::Status made = tokenizer->Decode(ids, special, out.values);
    if (!made.ok()) {
      out.failed_row = row;
      return Annotate(made, std::string(kDetokenize));
    }
    out.offsets.Push(static_cast<int64_t>(out.values.size()));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTokenizerFunctions(FunctionRegistry& registry,
                           const std::shared_ptr<const LoadedFiles>& files) {
  const auto add = [&](std::string_view name, auto infer, auto compute) {
    FunctionRegistry::Function function;
    function.infer = infer;
    function.compute = [files, compute](std::span<const Argument> arguments,
                                        size_t rows, const ValueType& type,
                                        OutputColumn& out) {
      return compute(*files, arguments, rows, type, out);
    };
    function.slow = true;
    registry.Add(std::string(name), std::move(function));
  };
  add(kTokenize, InferTokenize, Tokenize);
  add(kDetokenize, InferDetokenize, Detokenize);
  registry.Describe(
      {{kTokenize},
       "`tokenize(s, 'tokenizer.json')`, `tokenize(s, 'tokenizer.json', "
       "False)`",
       "int32[?]: the token ids of one text, as Hugging Face's tokenizers and "
       "tiktoken give them. The file is a tokenizer.json (BPE, WordPiece, "
       "Unigram, WordLevel, with all normalisers) or tiktoken's ranks, whose "
       "name begins with that of their pattern: `cl100k_base.tiktoken`, "
       "`o200k…`, `gpt2…`, `r50k_base…`, `p50k…`. With the special tokens that "
       "a tokenizer.json puts around a text, unless the third argument is "
       "False. A text that is not UTF-8 is a data error. Needs the plugin "
       "`libfeedmill_tokenizers.so` ([plugins.md](plugins.md))"});
  registry.Describe(
      {{kDetokenize},
       "`detokenize(ids, 'tokenizer.json')`, `detokenize(ids, "
       "'tokenizer.json', True)`",
       "bytes: the text of these token ids, without special tokens unless the "
       "third argument is True"});
}

}  // namespace feedmill
