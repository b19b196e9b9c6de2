#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/chat_template.h"
#include "core/ops/function_families.h"
#include "core/ops/lookup_functions.h"
#include "core/ops/row_items.h"
#include "core/ops/tokenizer.h"

namespace feedmill {
namespace {

constexpr std::string_view kTokenize = "tokenize";
constexpr std::string_view kTokenOffsets = "token_offsets";
constexpr std::string_view kTokenizeChat = "tokenize_chat";
constexpr std::string_view kFormatChat = "format_chat";
constexpr std::string_view kDetokenize = "detokenize";
constexpr int64_t kLengthMax = int64_t{1} << 30;

template <class T>
const T* LiteralAt(const ValueType& type) {
  return type.literal ? std::get_if<T>(&type.literal->value) : nullptr;
}

absl::Status CheckFile(std::string_view function, const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const std::string path,
      ConstantText(fmt::format("{}: the file", function), type));
  if (!path.empty()) return absl::OkStatus();
  return InvalidArgument("{}: the file has no name", function);
}

absl::Status CheckText(std::string_view function, const ValueType& type) {
  if (type.dtype == DType::kBytes && type.shape.empty()) {
    return absl::OkStatus();
  }
  return InvalidArgument("{} takes one text a row, not {}{}", function,
                         DTypeName(type.dtype), ShapeToString(type.shape));
}

// Checks the file and the arguments after it: a bool or a pattern, and the
// largest number of tokens if `cuts`.
absl::Status CheckOptions(std::string_view function,
                          const std::vector<ValueType>& given, bool cuts) {
  const size_t most = cuts ? 4 : 3;
  if (given.size() < 2 || given.size() > most) {
    return ExpectArguments(function, given.size(), most);
  }
  FM_RETURN_IF_ERROR(CheckFile(function, given[1]));
  if (given.size() > 2 && LiteralAt<bool>(given[2]) == nullptr &&
      LiteralAt<std::string>(given[2]) == nullptr) {
    return InvalidArgument(
        "{}: its third argument is True or False, with or without special "
        "tokens, or the pattern of a file of ranks",
        function);
  }
  if (given.size() < 4) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(
      const int64_t most_tokens,
      ConstantInteger(fmt::format("{}: the number of tokens", function),
                      given[3]));
  if (most_tokens >= 1 && most_tokens <= kLengthMax) return absl::OkStatus();
  return InvalidArgument("{}: at most {} tokens, must be 1 to {}", function,
                         most_tokens, kLengthMax);
}

Tokenizer::Options OptionsOf(std::span<const Argument> arguments,
                             bool special_by_default) {
  Tokenizer::Options options{special_by_default};
  if (arguments.size() > 2) {
    const bool* const special = LiteralAt<bool>(*arguments[2].type);
    if (special != nullptr) options.special = *special;
  }
  if (arguments.size() > 3) {
    options.length_max = *LiteralAt<int64_t>(*arguments[3].type);
  }
  return options;
}

absl::StatusOr<const Tokenizer*> Loaded(std::string_view function,
                                        const LoadedFiles& files,
                                        std::span<const Argument> arguments) {
  const auto& path = *LiteralAt<std::string>(*arguments[1].type);
  const std::string* const pattern =
      function != kTokenizeChat && arguments.size() > 2
          ? LiteralAt<std::string>(*arguments[2].type)
          : nullptr;
  const auto found =
      files.tokenizers.find({path, pattern == nullptr ? "" : *pattern});
  if (found != files.tokenizers.end()) return found->second.get();
  return Internal("{}: {} was not loaded", function, path);
}

ValueType Int32s(Shape shape) {
  ValueType result;
  result.dtype = DType::kInt32;
  result.shape = std::move(shape);
  return result;
}

absl::StatusOr<ValueType> InferTokenize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(CheckOptions(kTokenize, given, /*cuts=*/true));
  FM_RETURN_IF_ERROR(CheckText(kTokenize, given[0]));
  return Int32s({kUnknownDim});
}

absl::StatusOr<ValueType> InferOffsets(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(CheckOptions(kTokenOffsets, given, /*cuts=*/true));
  FM_RETURN_IF_ERROR(CheckText(kTokenOffsets, given[0]));
  return Int32s({kUnknownDim, 2});
}

// Checks the name of a template and the bool after it, from argument k on.
absl::Status CheckTemplate(std::string_view function,
                           const std::vector<ValueType>& given, size_t k) {
  if (given.size() != k + 1) {
    FM_RETURN_IF_ERROR(ExpectArguments(function, given.size(), k + 2));
    if (LiteralAt<bool>(given[k + 1]) == nullptr) {
      return InvalidArgument(
          "{}: its last argument is True or False: with or without the "
          "beginning of an answer",
          function);
    }
  }
  FM_RETURN_IF_ERROR(CheckText(function, given[0]));
  FM_ASSIGN_OR_RETURN(
      const std::string name,
      ConstantText(fmt::format("{}: the template", function), given[k]));
  return Annotate(FindChatTemplate(name).status(), std::string(function));
}

absl::StatusOr<ValueType> InferTokenizeChat(
    const std::vector<ValueType>& given) {
  if (given.size() < 3) return ExpectArguments(kTokenizeChat, given.size(), 3);
  FM_RETURN_IF_ERROR(CheckFile(kTokenizeChat, given[1]));
  FM_RETURN_IF_ERROR(CheckTemplate(kTokenizeChat, given, 2));
  return Int32s({2, kUnknownDim});
}

absl::StatusOr<ValueType> InferFormatChat(const std::vector<ValueType>& given) {
  if (given.size() < 2) return ExpectArguments(kFormatChat, given.size(), 2);
  FM_RETURN_IF_ERROR(CheckTemplate(kFormatChat, given, 1));
  ValueType result;
  result.dtype = DType::kBytes;
  return result;
}

absl::StatusOr<ValueType> InferDetokenize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(CheckOptions(kDetokenize, given, /*cuts=*/false));
  if (!IsInteger(given[0].dtype) || given[0].shape.size() != 1) {
    return InvalidArgument("{} takes the token ids of a row, not {}{}",
                           kDetokenize, DTypeName(given[0].dtype),
                           ShapeToString(given[0].shape));
  }
  ValueType result;
  result.dtype = DType::kBytes;
  return result;
}

// Calls make(text) for the text of each row, which appends the result's items
// and returns the dims of the row.
template <class Make>
absl::Status ForEachText(std::string_view function,
                         std::span<const Argument> arguments, size_t rows,
                         OutputColumn& out, const Make& make) {
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const absl::Status made =
        make(from.BytesAt(from.RowStart(RowOf(arguments[0], row))));
    if (made.ok()) continue;
    out.failed_row = row;
    return Annotate(made, std::string(function));
  }
  return absl::OkStatus();
}

int64_t CountSince(size_t begin, OutputColumn& out) {
  return static_cast<int64_t>((out.values.size() - begin) / sizeof(int32_t));
}

absl::Status Tokenize(const LoadedFiles& files,
                      std::span<const Argument> arguments, size_t rows,
                      const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kTokenize, files, arguments));
  const Tokenizer::Options options = OptionsOf(arguments, true);
  StartRows(type, /*ragged=*/true, out);
  return ForEachText(
      kTokenize, arguments, rows, out, [&](std::string_view text) {
        const size_t begin = out.values.size();
        FM_RETURN_IF_ERROR(tokenizer->Encode(text, options, out.values));
        const int64_t count = CountSince(begin, out);
        EndRaggedRow({&count, 1}, out);
        return absl::OkStatus();
      });
}

absl::Status TokenOffsets(const LoadedFiles& files,
                          std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kTokenOffsets, files, arguments));
  const Tokenizer::Options options = OptionsOf(arguments, true);
  StartRows(type, /*ragged=*/true, out);
  BufferBuilder ids;
  return ForEachText(
      kTokenOffsets, arguments, rows, out, [&](std::string_view text) {
        const size_t begin = out.values.size();
        ids.Truncate(0);
        FM_RETURN_IF_ERROR(
            tokenizer->EncodePlaces(text, options, ids, out.values));
        const int64_t dims[] = {CountSince(begin, out) / 2, 2};
        EndRaggedRow(dims, out);
        return absl::OkStatus();
      });
}

// Appends 1 for each token of the assistant's answers, else 0. The places of
// tokens count characters.
void AppendMask(const ChatText& chat, std::span<const int32_t> places,
                BufferBuilder& out) {
  const size_t count = places.size() / 2;
  auto* const mask =
      reinterpret_cast<int32_t*>(out.Extend(count * sizeof(int32_t)));
  std::fill(mask, mask + count, 0);
  size_t byte = 0, k = 0;
  int32_t characters = 0;
  const auto character_at = [&](size_t to) {
    for (; byte < to; ++byte) characters += (chat.text[byte] & 0xc0) != 0x80;
    return characters;
  };
  for (const auto& [from, to] : chat.answers) {
    const int32_t begin = character_at(from), end = character_at(to);
    while (k < count && places[2 * k + 1] <= begin) ++k;
    while (k < count && places[2 * k] < end) mask[k++] = 1;
    if (k > 0) --k;  // a token may belong to two answers
  }
}

absl::Status TokenizeChat(const LoadedFiles& files,
                          std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kTokenizeChat, files, arguments));
  FM_ASSIGN_OR_RETURN(
      const ChatTemplate* const form,
      FindChatTemplate(*LiteralAt<std::string>(*arguments[2].type)));
  const bool prompt =
      arguments.size() > 3 && *LiteralAt<bool>(*arguments[3].type);
  StartRows(type, /*ragged=*/true, out);
  BufferBuilder places;
  ChatText chat;
  return ForEachText(
      kTokenizeChat, arguments, rows, out, [&](std::string_view text) {
        FM_RETURN_IF_ERROR(FormatChat(*form, text, prompt, chat));
        const size_t begin = out.values.size();
        places.Truncate(0);
        FM_RETURN_IF_ERROR(tokenizer->EncodePlaces(
            chat.text, {.special = false}, out.values, places));
        const int64_t dims[] = {2, CountSince(begin, out)};
        AppendMask(chat,
                   {places.As<int32_t>(), places.size() / sizeof(int32_t)},
                   out.values);
        EndRaggedRow(dims, out);
        return absl::OkStatus();
      });
}

absl::Status ComputeFormatChat(const LoadedFiles& /*files*/,
                               std::span<const Argument> arguments, size_t rows,
                               const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(
      const ChatTemplate* const form,
      FindChatTemplate(*LiteralAt<std::string>(*arguments[1].type)));
  const bool prompt =
      arguments.size() > 2 && *LiteralAt<bool>(*arguments[2].type);
  StartRows(type, /*ragged=*/false, out);
  ChatText chat;
  return ForEachText(
      kFormatChat, arguments, rows, out, [&](std::string_view text) {
        FM_RETURN_IF_ERROR(FormatChat(*form, text, prompt, chat));
        out.values.Append(chat.text.data(), chat.text.size());
        out.offsets.Push(static_cast<int64_t>(out.values.size()));
        return absl::OkStatus();
      });
}

absl::Status Detokenize(const LoadedFiles& files,
                        std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer,
                      Loaded(kDetokenize, files, arguments));
  const bool special = OptionsOf(arguments, false).special;
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

void DescribeTokenizers(FunctionRegistry& registry) {
  registry.Describe(
      {{kTokenize},
       "`tokenize(s, 'tokenizer.json')`, `tokenize(s, 'tokenizer.json', "
       "False)`, `tokenize(s, 'tokenizer.json', True, 512)`, `tokenize(s, "
       "'a.tiktoken', 'cl100k_base')`",
       "int32[?]: the token ids of one text, as Hugging Face's tokenizers and "
       "tiktoken give them. The file is a tokenizer.json (BPE, WordPiece, "
       "Unigram, WordLevel, with all normalisers) or tiktoken's ranks. The "
       "third argument of ranks is their pattern: `'cl100k_base'`, "
       "`'o200k_base'`, `'r50k_base'`, `'p50k_base'`, `'gpt2'` or a regular "
       "expression; not needed if the file's name begins with such a name. "
       "With the special tokens that a tokenizer.json puts around a text, "
       "unless the third argument is False. At most 512 tokens, with those. A "
       "text that is not UTF-8 is a data error. Needs the plugin "
       "`libfeedmill_tokenizers.so` ([plugins.md](plugins.md))"});
  registry.Describe(
      {{kTokenOffsets},
       "`token_offsets(s, 'tokenizer.json')`",
       "int32[?, 2]: the first and the last character (code point, not byte) "
       "of each token of `tokenize` with the same arguments, the last one "
       "exclusive, as Hugging Face's offsets; 0 and 0 for special tokens "
       "around the text"});
  registry.Describe(
      {{kTokenizeChat},
       "`tokenize_chat(s, 'tokenizer.json', 'chatml')`, `tokenize_chat(s, "
       "'tokenizer.json', 'chatml', True)`",
       "int32[2, ?]: the token ids of `format_chat(s, 'chatml')`, and the "
       "loss mask: 1 for tokens of the assistant's contents and of the ends "
       "of its messages. As `apply_chat_template` of transformers"});
  registry.Describe(
      {{kFormatChat},
       "`format_chat(s, 'chatml')`, `format_chat(s, 'chatml', True)`",
       "bytes: the text of messages, a JSON list such as `[{\"role\": "
       "\"user\", \"content\": \"Hi\"}]`, in the form of `'chatml'`, "
       "`'qwen2'`, `'llama3'`, `'llama2'`, `'mistral'`, `'gemma'`, "
       "`'zephyr'` or `'phi3'`. With True it ends with the beginning of the "
       "assistant's answer"});
  registry.Describe(
      {{kDetokenize},
       "`detokenize(ids, 'tokenizer.json')`, `detokenize(ids, "
       "'tokenizer.json', True)`, `detokenize(ids, 'a.tiktoken', "
       "'cl100k_base')`",
       "bytes: the text of these token ids, without special tokens unless the "
       "third argument is True"});
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
    // Ids may begin or end within a character.
    if (name == kDetokenize) function.texts = FunctionRegistry::Texts::kBroken;
    registry.Add(std::string(name), std::move(function));
  };
  add(kTokenize, InferTokenize, Tokenize);
  add(kTokenOffsets, InferOffsets, TokenOffsets);
  add(kTokenizeChat, InferTokenizeChat, TokenizeChat);
  add(kFormatChat, InferFormatChat, ComputeFormatChat);
  add(kDetokenize, InferDetokenize, Detokenize);
  DescribeTokenizers(registry);
}

}  // namespace feedmill
