#include "core/ops/lookup_functions.h"

#include <xxhash.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/map_bytes.h"
#include "core/ops/row_items.h"
#include "core/ops/shown_text.h"

namespace feedmill {
namespace {

constexpr std::string_view kVocabulary = "vocabulary";
constexpr std::string_view kBuckets = "vocabulary_buckets";
constexpr std::string_view kSentencePiece = "sentencepiece";

absl::Status CheckPath(std::string_view function, const ValueType& type) {
  FM_ASSIGN_OR_RETURN(
      const std::string path,
      ConstantText(fmt::format("{}: the file", function), type));
  if (path.empty())
    return InvalidArgument("{}: the file has no name", function);
  return absl::OkStatus();
}

const std::string& PathOf(const Argument& argument) {
  return std::get<std::string>(argument.type->literal->value);
}

// Returns the loaded file that the second argument names.
template <class T>
absl::StatusOr<const T*> Loaded(
    std::string_view function,
    const std::map<std::string, std::shared_ptr<const T>, std::less<>>& loaded,
    std::span<const Argument> arguments) {
  const std::string& path = PathOf(arguments[1]);
  const auto found = loaded.find(path);
  if (found != loaded.end()) return found->second.get();
  return Internal("{}: {} was not loaded", function, path);
}

// ---- vocabulary, vocabulary_buckets

absl::StatusOr<ValueType> InferVocabulary(const std::vector<ValueType>& given) {
  if (given.size() != 2) {
    FM_RETURN_IF_ERROR(ExpectArguments(kVocabulary, given.size(), 3));
    FM_RETURN_IF_ERROR(
        ConstantInteger("vocabulary: the number of unknown words", given[2])
            .status());
  }
  FM_RETURN_IF_ERROR(CheckPath(kVocabulary, given[1]));
  return BytesLike(kVocabulary, given[0], DType::kInt64);
}

absl::StatusOr<ValueType> InferBuckets(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kBuckets, given.size(), 3));
  FM_RETURN_IF_ERROR(CheckPath(kBuckets, given[1]));
  FM_ASSIGN_OR_RETURN(
      const int64_t buckets,
      ConstantInteger("vocabulary_buckets: the number of buckets", given[2]));
  constexpr int64_t kBucketsMax = int64_t{1} << 62;
  if (buckets < 1 || buckets > kBucketsMax) {
    return InvalidArgument("{}: {} buckets are out of range, 1 to {}", kBuckets,
                           buckets, kBucketsMax);
  }
  return BytesLike(kBuckets, given[0], DType::kInt64);
}

FunctionRegistry::Function MakeVocabulary(
    const std::shared_ptr<const LoadedFiles>& files) {
  FunctionRegistry::Function function;
  function.infer = InferVocabulary;
  function.compute = [files](std::span<const Argument> arguments, size_t rows,
                             const ValueType& type,
                             OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const Vocabulary* const words,
                        Loaded(kVocabulary, files->vocabularies, arguments));
    std::optional<int64_t> unknown;
    if (arguments.size() > 2) {
      unknown = std::get<int64_t>(arguments[2].type->literal->value);
    }
    return MapBytesTo<int64_t>(
        arguments[0], rows, type, out,
        [&](std::string_view text, int64_t& to) -> absl::Status {
          to = words->Find(text);
          if (to >= 0) return absl::OkStatus();
          if (!unknown) {
            return DataLoss("{}: \"{}\" is not in {}{}", kVocabulary,
                            ShownText(text), PathOf(arguments[1]),
                            text.ends_with('\r')
                                ? "; it ends with a carriage return, which "
                                  "rstrip(…) removes"
                                : "");
          }
          to = *unknown;
          return absl::OkStatus();
        });
  };
  return function;
}

FunctionRegistry::Function MakeBuckets(
    const std::shared_ptr<const LoadedFiles>& files) {
  FunctionRegistry::Function function;
  function.infer = InferBuckets;
  function.compute = [files](std::span<const Argument> arguments, size_t rows,
                             const ValueType& type,
                             OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const Vocabulary* const words,
                        Loaded(kBuckets, files->vocabularies, arguments));
    const auto buckets = static_cast<uint64_t>(
        std::get<int64_t>(arguments[2].type->literal->value));
    return MapBytesTo<int64_t>(
        arguments[0], rows, type, out,
        [&](std::string_view text, int64_t& to) -> absl::Status {
          to = words->Find(text);
          if (to < 0) {
            const uint64_t hash = XXH3_64bits(text.data(), text.size());
            to = words->size() + static_cast<int64_t>(hash % buckets);
          }
          return absl::OkStatus();
        });
  };
  return function;
}

// ---- sentencepiece

absl::StatusOr<ValueType> InferSentencePiece(
    const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(kSentencePiece, given.size(), 2));
  FM_RETURN_IF_ERROR(CheckPath(kSentencePiece, given[1]));
  FM_ASSIGN_OR_RETURN(ValueType result,
                      BytesLike(kSentencePiece, given[0], DType::kInt32));
  if (!result.shape.empty()) {
    return InvalidArgument("{} takes one text a row, not bytes{}",
                           kSentencePiece, ShapeToString(result.shape));
  }
  result.shape = {kUnknownDim};
  return result;
}

FunctionRegistry::Function MakeSentencePiece(
    const std::shared_ptr<const LoadedFiles>& files) {
  FunctionRegistry::Function function;
  function.slow = true;
  function.infer = InferSentencePiece;
  function.compute = [files](std::span<const Argument> arguments, size_t rows,
                             const ValueType& type,
                             OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const SentencePieceModel* const model,
                        Loaded(kSentencePiece, files->models, arguments));
    StartRows(type, /*ragged=*/true, out);
    const Column& from = *arguments[0].column;
    std::vector<int> ids;
    std::string error;
    for (size_t row = 0; row < rows; ++row) {
      const std::string_view text =
          from.BytesAt(from.RowStart(RowOf(arguments[0], row)));
      if (!model->Encode(text, ids, error)) {
        out.failed_row = row;
        return DataLoss("{}: {}", kSentencePiece, error);
      }
      for (const int id : ids) out.values.Push(int32_t{id});
      const auto count = static_cast<int64_t>(ids.size());
      EndRaggedRow({&count, 1}, out);
    }
    return absl::OkStatus();
  };
  return function;
}

}  // namespace

void AddLookupFunctions(FunctionRegistry& registry,
                        const std::shared_ptr<const LoadedFiles>& files) {
  registry.Add(std::string(kVocabulary), MakeVocabulary(files));
  registry.Add(std::string(kBuckets), MakeBuckets(files));
  registry.Add(std::string(kSentencePiece), MakeSentencePiece(files));
  registry.Describe(
      {{"vocabulary"},
       "`vocabulary(s, 'file')`, `vocabulary(s, 'file', -1)`",
       "int64: the number, from 0, of the line that equals s. Lines are those "
       "of the source `text`, also without the `\\r` of a `\\r\\n`; a line "
       "that occurs twice is refused. A text that is no line gets the given "
       "number (here −1); without one it is a data error"});
  registry.Describe({{"vocabulary_buckets"},
                     "`vocabulary_buckets(s, 'file', n)`",
                     "as `vocabulary`; a text that is no line gets the number "
                     "of lines + `hash_bucket(s, n)`"});
  registry.Describe(
      {{"sentencepiece"},
       "`sentencepiece(s, 'file')`",
       "int32[?]: the token ids of one text, by that SentencePiece model"});
  AddTokenizerFunctions(registry, files);
}

}  // namespace feedmill
