#include <re2/re2.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/ops/function_families.h"
#include "core/ops/map_bytes.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

using Pattern = std::shared_ptr<const RE2>;

// Returns the compiled pattern. Each thread keeps the patterns that it has
// used, because compiling takes longer than most rows.
absl::StatusOr<Pattern> Compiled(const std::string& pattern) {
  constexpr size_t kKeptMax = 100;
  thread_local std::map<std::string, Pattern> kept;
  const auto known = kept.find(pattern);
  if (known != kept.end()) return known->second;
  RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_shared<const RE2>(pattern, options);
  if (!made->ok()) {
    return InvalidArgument("the pattern '{}' is not valid RE2 syntax: {}",
                           pattern, made->error());
  }
  if (kept.size() >= kKeptMax) kept.clear();
  kept.emplace(pattern, made);
  return Pattern(std::move(made));
}

// Returns the pattern in argument 1 of a function with `count` arguments.
absl::StatusOr<Pattern> PatternOf(std::string_view function,
                                  const std::vector<ValueType>& given,
                                  size_t count) {
  FM_RETURN_IF_ERROR(ExpectArguments(function, given.size(), count));
  FM_ASSIGN_OR_RETURN(
      const std::string text,
      ConstantText(fmt::format("{}: the pattern", function), given[1]));
  auto pattern = Compiled(text);
  if (!pattern.ok()) {
    return Annotate(pattern.status(), std::string(function));
  }
  return pattern;
}

absl::StatusOr<Pattern> PatternOf(const Argument& argument) {
  return Compiled(std::get<std::string>(argument.type->literal->value));
}

re2::StringPiece Re2Text(std::string_view text) {
  return {text.data(), text.size()};
}

FunctionRegistry::Function MakeMatch() {
  FunctionRegistry::Function function;
  function.slow = true;
  function.infer =
      [](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_RETURN_IF_ERROR(PatternOf("re_match", given, 2).status());
    return BytesLike("re_match", given[0], DType::kBool);
  };
  function.compute = [](std::span<const Argument> arguments, size_t rows,
                        const ValueType& type,
                        OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const Pattern pattern, PatternOf(arguments[1]));
    return MapBytesTo<uint8_t>(
        arguments[0], rows, type, out,
        [&](std::string_view text, uint8_t& to) -> absl::Status {
          to = pattern->Match(Re2Text(text), 0, text.size(), RE2::UNANCHORED,
                              nullptr, 0)
                   ? 1
                   : 0;
          return absl::OkStatus();
        });
  };
  return function;
}

FunctionRegistry::Function MakeExtract() {
  FunctionRegistry::Function function;
  function.slow = true;
  function.infer =
      [](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_ASSIGN_OR_RETURN(const Pattern pattern,
                        PatternOf("re_extract", given, 3));
    FM_ASSIGN_OR_RETURN(const int64_t group,
                        ConstantInteger("re_extract: the group", given[2]));
    if (group < 0 || group > pattern->NumberOfCapturingGroups()) {
      return InvalidArgument("re_extract: the pattern '{}' has no group {}",
                             pattern->pattern(), group);
    }
    return BytesLike("re_extract", given[0], DType::kBytes);
  };
  function.compute = [](std::span<const Argument> arguments, size_t rows,
                        const ValueType& type,
                        OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const Pattern pattern, PatternOf(arguments[1]));
    const auto group = static_cast<size_t>(
        std::get<int64_t>(arguments[2].type->literal->value));
    std::vector<re2::StringPiece> groups(group + 1);
    return MapBytesToBytes(
        arguments[0], rows, type, out,
        [&](std::string_view text, BufferBuilder& to) -> absl::Status {
          if (pattern->Match(Re2Text(text), 0, text.size(), RE2::UNANCHORED,
                             groups.data(), static_cast<int>(group + 1))) {
            to.Append(groups[group].data(), groups[group].size());
          }
          return absl::OkStatus();
        });
  };
  return function;
}

FunctionRegistry::Function MakeReplace() {
  FunctionRegistry::Function function;
  function.slow = true;
  function.infer =
      [](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_ASSIGN_OR_RETURN(const Pattern pattern,
                        PatternOf("re_replace", given, 3));
    FM_ASSIGN_OR_RETURN(const std::string rewrite,
                        ConstantText("re_replace: the rewrite", given[2]));
    std::string error;
    if (!pattern->CheckRewriteString(Re2Text(rewrite), &error)) {
      return InvalidArgument("re_replace: the rewrite '{}': {}", rewrite,
                             error);
    }
    return BytesLike("re_replace", given[0], DType::kBytes);
  };
  function.compute = [](std::span<const Argument> arguments, size_t rows,
                        const ValueType& type,
                        OutputColumn& out) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const Pattern pattern, PatternOf(arguments[1]));
    const auto& rewrite =
        std::get<std::string>(arguments[2].type->literal->value);
    std::string scratch;
    return MapBytesToBytes(
        arguments[0], rows, type, out,
        [&](std::string_view text, BufferBuilder& to) -> absl::Status {
          scratch.assign(text);
          RE2::GlobalReplace(&scratch, *pattern, Re2Text(rewrite));
          to.Append(scratch.data(), scratch.size());
          return absl::OkStatus();
        });
  };
  return function;
}

}  // namespace

void AddRegexFunctions(FunctionRegistry& registry) {
  registry.Add("re_match", MakeMatch());
  registry.Add("re_extract", MakeExtract());
  registry.Add("re_replace", MakeReplace());
  registry.Describe({{"re_match"},
                     "`re_match(s, 'pattern')`",
                     "whether RE2 finds it anywhere; ^ and $ anchor"});
  registry.Describe(
      {{"re_extract"},
       "`re_extract(s, 'pattern', group)`",
       "that group of the first match, 0 for all of it; '' if there is none"});
  registry.Describe({{"re_replace"},
                     "`re_replace(s, 'pattern', 'rewrite')`",
                     "every match; `\\1` is a group. Patterns are RE2's, of "
                     "UTF-8, and constants; write r'\\d'"});
}

}  // namespace feedmill
