#include "core/pipeline/bound_files.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/ops/lookup_functions.h"
#include "core/ops/tokenizer_plugin.h"
#include "core/pipeline/lookup_table.h"
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

// Parsed files of this process, each as long as it has a user.
template <class T>
class KeptFiles {
 public:
  using Parse = absl::StatusOr<std::shared_ptr<const T>> (*)(
      const std::string& path, std::string_view bytes);

  // The mutex is held while a file is read, so that each file is read once.
  absl::StatusOr<std::shared_ptr<const T>> Get(const NamedContent& content,
                                               Parse parse) {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_,
                  [](const auto& file) { return file.second.expired(); });
    auto& kept = kept_[{content.path, content.hash_low, content.hash_high}];
    if (auto known = kept.lock()) return known;
    NamedContent now;
    FM_ASSIGN_OR_RETURN(const std::string bytes,
                        ReadNamedFile(content.path, now));
    if (now != content) {
      return FailedPrecondition(
          "{}: changed since the job began; restore it, or start a new job",
          content.path);
    }
    FM_ASSIGN_OR_RETURN(auto made, parse(content.path, bytes));
    kept = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, std::weak_ptr<const T>>
      kept_;
};

absl::Status Load(const NamedFile& file, const NamedContent& content,
                  LoadedFiles& loaded) {
  static KeptFiles<Vocabulary> vocabularies;
  static KeptFiles<SentencePieceModel> models;
  static KeptFiles<Tokenizer> tokenizers;
  switch (file.kind) {
    case NamedFile::Kind::kVocabulary: {
      FM_ASSIGN_OR_RETURN(loaded.vocabularies[file.path],
                          vocabularies.Get(content, ParseVocabulary));
      break;
    }
    case NamedFile::Kind::kSentencePieceModel: {
      FM_ASSIGN_OR_RETURN(loaded.models[file.path],
                          models.Get(content, ParsePieces));
      break;
    }
    case NamedFile::Kind::kTokenizer: {
      FM_ASSIGN_OR_RETURN(loaded.tokenizers[file.path],
                          tokenizers.Get(content, ReadTokenizer));
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
