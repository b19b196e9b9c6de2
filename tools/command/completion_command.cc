#include <cstdio>
#include <string>

#include "core/base/status.h"
#include "tools/command/commands.h"

namespace feedmill {
namespace {

constexpr char kCompletionSummary[] =
    "Prints a script that completes feedmill's commands, flags and choices.";
constexpr char kCompletionExamples[] =
    "Examples:\n"
    "  source <(feedmill completion bash)\n"
    "  feedmill completion bash > /etc/bash_completion.d/feedmill\n"
    "  feedmill completion zsh > ~/.zfunc/_feedmill   # a folder of $fpath";

bool IsFolder(const FlagEntry& entry) { return entry.type == "DIR"; }
bool IsFile(const FlagEntry& entry) {
  return entry.type.starts_with("FILE") || entry.name == "FILE" ||
         entry.name == "PIPELINE";
}
bool IsFlag(const FlagEntry& entry) { return entry.name.starts_with("--"); }

// Returns bash commands that complete the value of a flag.
std::string BashValues(const FlagEntry& entry) {
  if (!entry.choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
                       fmt::join(entry.choices, " "));
  }
  if (IsFolder(entry)) return "COMPREPLY=($(compgen -d -- \"$cur\"))";
  if (IsFile(entry)) return "COMPREPLY=($(compgen -f -- \"$cur\"))";
  return "COMPREPLY=()";
}

std::string BashCommand(const FlagTable& table) {
  std::string values, names, words = "COMPREPLY=()";
  for (const FlagEntry& entry : table.entries) {
    if (!IsFlag(entry)) {
      words = BashValues(entry);
      continue;
    }
    names += " " + entry.name;
    if (entry.type.empty()) continue;
    values += fmt::format("        {}) {}; return ;;\n", entry.name,
                          BashValues(entry));
  }
  return fmt::format(
      "    {})\n"
      "      case $prev in\n"
      "{}"
      "      esac\n"
      "      if [[ $cur == -* ]]; then\n"
      "        COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n"
      "      else\n"
      "        {}\n"
      "      fi ;;\n",
      table.command, values, names.empty() ? names : names.substr(1), words);
}

std::string BashScript(const std::vector<FlagTable>& tables) {
  std::string names, cases;
  for (const FlagTable& table : tables) {
    names += table.command + " ";
    cases += BashCommand(table);
  }
  return fmt::format(
      "# bash completion for feedmill; made by 'feedmill completion bash'.\n"
      "_feedmill() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W '{}--help --version' -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  prev=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _feedmill feedmill\n",
      names, cases);
}

// Quotes a text for single quotes inside an _arguments specification.
std::string ZshText(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string ZshAction(const FlagEntry& entry) {
  if (!entry.choices.empty()) {
    return fmt::format("({})", fmt::join(entry.choices, " "));
  }
  if (IsFolder(entry)) return "_files -/";
  return IsFile(entry) ? "_files" : " ";
}

std::string ZshCommand(const FlagTable& table) {
  std::string text = fmt::format("    {})\n      _arguments", table.command);
  for (const FlagEntry& entry : table.entries) {
    if (!IsFlag(entry)) {
      text += fmt::format(" \\\n        ':{}:{}'", ZshText(entry.name),
                          ZshAction(entry));
    } else if (entry.type.empty()) {
      text +=
          fmt::format(" \\\n        '{}[{}]'", entry.name, ZshText(entry.help));
    } else {
      text += fmt::format(" \\\n        '{}[{}]:{}:{}'", entry.name,
                          ZshText(entry.help), ZshText(entry.type),
                          ZshAction(entry));
    }
  }
  return text + " ;;\n";
}

std::string ZshScript(const std::vector<FlagTable>& tables) {
  std::string names, cases;
  for (const Command& command : Commands()) {
    names +=
        fmt::format("    '{}:{}'\n", command.name, ZshText(command.summary));
  }
  for (const FlagTable& table : tables) cases += ZshCommand(table);
  return fmt::format(
      "#compdef feedmill\n"
      "# zsh completion for feedmill; made by 'feedmill completion zsh'.\n"
      "_feedmill() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $words[1] in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _feedmill ]]; then\n"
      "  _feedmill \"$@\"\n"
      "elif ((${{+functions[compdef]}})); then\n"
      "  compdef _feedmill feedmill\n"
      "fi\n",
      names, cases);
}

}  // namespace

absl::StatusOr<int> RunCompletion(const Invocation& invocation) {
  std::string shell;
  FlagSet flags("completion", kCompletionSummary, kCompletionExamples);
  flags.Positional("SHELL", "bash or zsh (required)", &shell);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (shell != "bash" && shell != "zsh") {
    return flags.Error(
        shell.empty() ? "a shell is missing: bash or zsh"
                      : fmt::format("'{}' is neither bash nor zsh", shell));
  }
  const std::vector<FlagTable> tables = DescribeCommands();
  const std::string script =
      shell == "bash" ? BashScript(tables) : ZshScript(tables);
  std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace feedmill
