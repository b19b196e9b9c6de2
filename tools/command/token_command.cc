#include <cstdio>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "feedmill/token.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/token_file.h"

namespace feedmill {
namespace {

constexpr char kTokenSummary[] =
    "merge: joins the tokens of all consumers of a reading, saved after the\n"
    "same number of elements, into one, from which any number of consumers "
    "can\n"
    "continue. show: prints tokens, one JSON object a line.";
constexpr char kTokenExamples[] =
    "Examples:\n"
    "  feedmill read p.yaml --service h:5050 --job j --consumer 0/2 \\\n"
    "    --limit 100 --save-token t0    (and 1/2 with t1)\n"
    "  feedmill token merge t0 t1 --output all\n"
    "  feedmill read p.yaml --service h:5050 --job j --consumer 2/3 --token "
    "all\n"
    "  feedmill token show all";

}  // namespace

absl::StatusOr<int> RunToken(const Invocation& invocation) {
  std::string action, output;
  std::vector<std::string> files;
  FlagSet flags("token", kTokenSummary, kTokenExamples);
  flags.Positional("ACTION", "merge or show (required)", &action);
  flags.Positionals("FILE", "The tokens' files, one or more", &files);
  flags.Text("--output", "FILE", "File for the merged token (required)",
             &output);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (action != "merge" && action != "show") {
    return flags.Error(action.empty()
                           ? "ACTION, merge or show, is missing"
                           : fmt::format("'{}' is not merge or show", action));
  }
  if (files.empty()) return flags.Error("FILE, a token's file, is missing");
  if ((action == "merge") == output.empty()) {
    return flags.Error(action == "merge" ? "--output FILE is missing"
                                         : "--output is for merge");
  }
  std::vector<std::string> tokens;
  for (const std::string& file : files) {
    FM_ASSIGN_OR_RETURN(tokens.emplace_back(), LoadToken(file, file));
    const absl::StatusOr<std::string> text = Token::Describe(tokens.back());
    if (!text.ok()) return Annotate(text.status(), file);
    if (action == "show") std::printf("%s\n", text->c_str());
  }
  if (action == "show") return 0;
  FM_ASSIGN_OR_RETURN(const std::string merged, Token::Merge(tokens));
  FM_RETURN_IF_ERROR(SaveFile("--output " + output, output, merged));
  return 0;
}

}  // namespace feedmill
