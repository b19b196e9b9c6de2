#include "core/pipeline/bound_files.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/ops/lookup_functions.h"
#include "core/ops/tokenizer_plugin.h"
#include "core/pipeline/lookup_table.h"
#include "core/sources/kept_values.h"
#include "core/sources/manifest_resolution.h"

namespace feedmill {
namespace {

absl::StatusOr<std::shared_ptr<const Vocabulary>> ParseVocabulary(
    const std::string& path, std::string_view bytes) {
  auto made = Vocabulary::Parse(std::string(bytes));
  if (!made.ok()) return Annotate(made.status(), path);
  return std::make_shared<const Vocabulary>(*std::move(made));
}

absl::StatusOr<std::shared_ptr<const SentencePieceModel>> ParsePieces(
    const std::string& path, std::string_view bytes) {
  std::string error;
  std::shared_ptr<const SentencePieceModel> made =
      SentencePieceModel::Parse(bytes, error);
  if (made != nullptr) return made;
  return InvalidArgument("{}: not a SentencePiece model: {}", path, error);
}

// Returns the parsed file. A process keeps one copy of it for each `options`.
template <class T, class Parse>
absl::StatusOr<std::shared_ptr<const T>> Parsed(
    const NamedContent& content, const Parse& parse,
    const std::string& options = "") {
  static KeptValues<T> files;
  const std::string key = fmt::format("{} {} {}{}", content.hash_high,
                                      content.hash_low, content.path, options);
  return files.Get(key, [&]() -> absl::StatusOr<std::shared_ptr<const T>> {
    NamedContent now;
    FM_ASSIGN_OR_RETURN(const std::string bytes,
                        ReadNamedFile(content.path, now));
    if (now != content) {
      return FailedPrecondition(
          "{}: changed since the job began; restore it, or start a new job",
          content.path);
    }
    return parse(content.path, bytes);
  });
}

absl::Status Load(const NamedFile& file, const NamedContent& content,
                  LoadedFiles& loaded) {
  switch (file.kind) {
    case NamedFile::Kind::kVocabulary: {
      FM_ASSIGN_OR_RETURN(loaded.vocabularies[file.path],
                          Parsed<Vocabulary>(content, ParseVocabulary));
      break;
    }
    case NamedFile::Kind::kSentencePieceModel: {
      FM_ASSIGN_OR_RETURN(loaded.models[file.path],
                          Parsed<SentencePieceModel>(content, ParsePieces));
      break;
    }
    case NamedFile::Kind::kTokenizer: {
      const auto parse = [&](const std::string& path, std::string_view bytes) {
        return ReadTokenizer(path, file.pattern, bytes);
      };
      FM_ASSIGN_OR_RETURN(
          (loaded.tokenizers[{file.path, file.pattern}]),
          Parsed<Tokenizer>(content, parse, " " + file.pattern));
      break;
    }
  }
  return absl::OkStatus();
}

bool HasLookups(const AnalyzedGraph& graph) {
  return std::ranges::any_of(
             graph.graph.steps,
             [](const Step& step) { return step.Is<LookupStep>(); }) ||
         std::ranges::any_of(graph.inputs, [](const auto& input) {
           return HasLookups(*input);
         });
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> BindFiles(
    const AnalyzedGraph& graph, const Manifest* manifest,
    std::shared_ptr<const FunctionRegistry> registry) {
  const std::vector<NamedFile> files = NamedFiles(graph.graph);
  const bool lookups = HasLookups(graph);
  if (files.empty() && !lookups) return registry;
  auto loaded = std::make_shared<LoadedFiles>();
  const std::vector<NamedContent> none;
  const auto& contents = manifest == nullptr ? none : manifest->contents;
  for (const NamedFile& file : files) {
    const auto content = std::find_if(
        contents.begin(), contents.end(),
        [&](const NamedContent& known) { return known.path == file.path; });
    if (content == contents.end()) {
      return Internal("the manifest lacks {}", file.path);
    }
    FM_RETURN_IF_ERROR(Load(file, *content, *loaded));
  }
  auto bound = std::make_shared<FunctionRegistry>(*registry);
  if (!files.empty()) AddLookupFunctions(*bound, loaded);
  if (lookups) FM_RETURN_IF_ERROR(AddLookups(graph, manifest, *bound));
  return std::shared_ptr<const FunctionRegistry>(std::move(bound));
}

}  // namespace feedmill
