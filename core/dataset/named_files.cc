#include "core/dataset/named_files.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

// Returns the constant text of an argument, or null.
const std::string* TextAt(const Expr::Call& call, size_t k) {
  if (call.arguments.size() <= k) return nullptr;
  const auto* literal = std::get_if<Expr::Literal>(&call.arguments[k].node());
  return literal == nullptr ? nullptr
                            : std::get_if<std::string>(&literal->value);
}

// Returns the file that a call names, or null.
const std::string* FileOf(const Expr::Call& call) {
  return FileKindOf(call.function) ? TextAt(call, 1) : nullptr;
}

// Returns the pattern of tokenize(x, 'a.tiktoken', 'pattern'), or null.
const std::string* PatternOf(const Expr::Call& call) {
  const bool takes = FileKindOf(call.function) == NamedFile::Kind::kTokenizer &&
                     call.function != "tokenize_chat";
  return takes ? TextAt(call, 2) : nullptr;
}

// True for an expression that Analyze rejects; it may be of any size, so it is
// not searched.
bool TooLarge(const Expr& expr) {
  return expr.height() > Expr::kHeightMax || expr.nodes() > Expr::kNodesMax;
}

void Collect(const Expr& expr, std::vector<NamedFile>& files) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return;
  if (const std::string* const path = FileOf(*call)) {
    const std::string* const pattern = PatternOf(*call);
    files.push_back({*path, *FileKindOf(call->function),
                     pattern == nullptr ? std::string() : *pattern});
  }
  for (const Expr& argument : call->arguments) Collect(argument, files);
}

Expr Changed(const ChangePath& change, const Expr& expr) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr) return expr;
  std::vector<Expr> arguments;
  for (const Expr& argument : call->arguments) {
    arguments.push_back(Changed(change, argument));
  }
  if (const std::string* const path = FileOf(*call)) {
    std::string changed = *path;
    change(changed);
    arguments[1] = Expr(Expr::Literal{std::move(changed)});
  }
  return Expr::Apply(call->function, std::move(arguments));
}

std::vector<NamedFile> Distinct(std::vector<NamedFile> files) {
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace

std::optional<NamedFile::Kind> FileKindOf(std::string_view function) {
  if (function == "vocabulary" || function == "vocabulary_buckets") {
    return NamedFile::Kind::kVocabulary;
  }
  if (function == "sentencepiece") return NamedFile::Kind::kSentencePieceModel;
  if (function == "tokenize" || function == "token_offsets" ||
      function == "tokenize_chat" || function == "detokenize") {
    return NamedFile::Kind::kTokenizer;
  }
  return std::nullopt;
}

std::vector<NamedFile> NamedFiles(const Step& step) {
  std::vector<NamedFile> files;
  step.ReadFields([&](const FieldList& fields) {
    ForEachExpr(fields, [&](const Expr& expr) {
      if (!TooLarge(expr)) Collect(expr, files);
    });
  });
  return Distinct(std::move(files));
}

std::vector<NamedFile> NamedFiles(const Graph& graph) {
  std::vector<NamedFile> files;
  const auto add = [&](const std::vector<NamedFile>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const Step& step : graph.steps) add(NamedFiles(step));
  if (const auto* inputs = SourceInputs(graph.source)) {
    for (const Graph& input : *inputs) add(NamedFiles(input));
  }
  return Distinct(std::move(files));
}

void ChangeNamedFiles(const ChangePath& change, Step& step) {
  if (NamedFiles(step).empty()) return;
  step = step.Changed([&](const FieldList& fields) {
    ForEachExpr(fields, [&](Expr& expr) {
      if (!TooLarge(expr)) expr = Changed(change, expr);
    });
  });
}

}  // namespace feedmill
