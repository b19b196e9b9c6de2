#ifndef FEEDMILL_CORE_OPS_LOOKUP_FUNCTIONS_H_
#define FEEDMILL_CORE_OPS_LOOKUP_FUNCTIONS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/dataset/function_registry.h"
#include "core/ops/sentence_piece_model.h"
#include "core/ops/tokenizer.h"
#include "core/ops/vocabulary.h"

namespace feedmill {

// The contents of files that expressions name, by path.
struct LoadedFiles {
  std::map<std::string, std::shared_ptr<const Vocabulary>, std::less<>>
      vocabularies;
  std::map<std::string, std::shared_ptr<const SentencePieceModel>, std::less<>>
      models;
  // By path and pattern.
  std::map<std::pair<std::string, std::string>,
           std::shared_ptr<const Tokenizer>>
      tokenizers;
};

// Adds the functions that look into files (vocabulary, …). Without `files` they
// have types, but computing them is an error. BindFiles
// (core/pipeline/bound_files.h) adds them again with files.
void AddLookupFunctions(FunctionRegistry& registry,
                        const std::shared_ptr<const LoadedFiles>& files);
// The part of AddLookupFunctions about tokenizers.
void AddTokenizerFunctions(FunctionRegistry& registry,
                           const std::shared_ptr<const LoadedFiles>& files);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_LOOKUP_FUNCTIONS_H_
