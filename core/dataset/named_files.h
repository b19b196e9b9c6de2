#ifndef FEEDMILL_CORE_DATASET_NAMED_FILES_H_
#define FEEDMILL_CORE_DATASET_NAMED_FILES_H_

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dataset/graph.h"

// Files that functions of expressions read: vocabulary(x, 'words.txt').

namespace feedmill {

struct NamedFile {
  enum class Kind { kVocabulary, kSentencePieceModel, kTokenizer };
  std::string path;
  Kind kind = Kind::kVocabulary;
  std::string pattern = {};  // of a file of ranks, if the call has one

  friend auto operator<=>(const NamedFile&, const NamedFile&) = default;
};

// Returns the kind of file that the function's constant second argument names;
// nullopt if the function reads no file.
std::optional<NamedFile::Kind> FileKindOf(std::string_view function);

// Returns the files that the expressions of a step name, each once, sorted.
std::vector<NamedFile> NamedFiles(const Step& step);
// Same for all steps, including the steps of inputs.
std::vector<NamedFile> NamedFiles(const Graph& graph);

// Calls change(path) for every file that the expressions of a step name.
using ChangePath = std::function<void(std::string& path)>;
void ChangeNamedFiles(const ChangePath& change, Step& step);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_NAMED_FILES_H_
