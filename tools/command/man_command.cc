#include <cstdio>
#include <string>

#include "core/base/status.h"
#include "core/dataset/nearest_name.h"
#include "tools/command/commands.h"

namespace feedmill {
namespace {

constexpr char kManSummary[] =
    "Prints the manual page of a command, for man(1), or feedmill's own.";
constexpr char kManExamples[] =
    "Examples:\n"
    "  feedmill man | man -l -\n"
    "  feedmill man worker > /usr/local/share/man/man1/feedmill-worker.1";

// Escapes text for roff, so that no line is a request and no character an
// escape.
std::string Roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string Heading(const std::string& page) {
  return fmt::format(".TH {} 1 \"\" \"feedmill {}\" \"feedmill\"\n", Roff(page),
                     FEEDMILL_VERSION);
}

// Formats a text, e.g. a list of examples, without filling its lines.
std::string Block(const std::string& text) {
  return fmt::format(".nf\n{}\n.fi\n", Roff(text));
}

std::string Entry(const FlagEntry& entry) {
  const std::string type =
      entry.type.empty() ? "" : fmt::format(" \\fI{}\\fR", Roff(entry.type));
  const std::string shown =
      entry.shown_default.empty()
          ? ""
          : fmt::format("\nDefault: {}.", Roff(entry.shown_default));
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}.{}\n", Roff(entry.name), type,
                     Roff(entry.help), shown);
}

std::string EnvironmentText(const FlagTable& table) {
  if (table.variable_prefix.empty()) return "";
  return fmt::format(
      ".SH ENVIRONMENT\n{}\n",
      Roff(fmt::format(
          "Every flag may also be a variable, {}LOG_LEVEL for --log-level, or "
          "a line of the file that --config names, 'log_level: debug'. A flag "
          "wins over a variable, and that over the file.",
          table.variable_prefix)));
}

std::string CommandPage(const FlagTable& table, const char* summary) {
  const std::string page = "feedmill-" + table.command;
  std::string synopsis = "feedmill " + table.command, entries;
  for (const FlagEntry& entry : table.entries) {
    if (!entry.name.starts_with("--")) synopsis += " " + entry.name;
    entries += Entry(entry);
  }
  return fmt::format(
      "{}"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n\\fB{}\\fR [FLAGS]\n"
      ".SH DESCRIPTION\n{}\n"
      ".SH OPTIONS\n{}"
      "{}"
      ".SH EXAMPLES\n{}"
      ".SH EXIT STATUS\n"
      "0 success, 1 failure, 2 wrong usage or input, 130 interrupted.\n"
      ".SH SEE ALSO\n\\fBfeedmill\\fR(1)\n",
      Heading(page), Roff(page), Roff(summary), Roff(synopsis),
      Roff(table.summary), entries, EnvironmentText(table),
      Block(table.examples));
}

std::string OwnPage() {
  std::string commands;
  for (const Command& command : Commands()) {
    commands +=
        fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fBfeedmill\\-{}\\fR(1).\n",
                    command.name, Roff(command.summary), command.name);
  }
  return fmt::format(
      "{}"
      ".SH NAME\nfeedmill \\- input data for machine learning\n"
      ".SH SYNOPSIS\n\\fBfeedmill\\fR COMMAND [FLAGS]\n"
      ".SH DESCRIPTION\nInput data for machine learning, read and prepared by "
      "other machines in exactly the order that one thread would make.\n"
      ".SH COMMANDS\n{}",
      Heading("feedmill"), commands);
}

}  // namespace

absl::StatusOr<int> RunMan(const Invocation& invocation) {
  std::string name;
  FlagSet flags("man", kManSummary, kManExamples);
  flags.Positional(
      "COMMAND", "Command whose page is printed; default: feedmill's own page",
      &name);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  std::string page = name.empty() ? OwnPage() : "";
  std::vector<std::string_view> known;
  const std::vector<FlagTable> tables = DescribeCommands();
  for (size_t k = 0; k < tables.size(); ++k) {
    known.emplace_back(tables[k].command);
    if (tables[k].command == name) {
      page = CommandPage(tables[k], Commands()[k].summary);
    }
  }
  if (page.empty()) {
    return flags.Error(
        fmt::format("unknown command \"{}\"{}", name, DidYouMean(name, known)));
  }
  std::fputs(page.c_str(), stdout);
  return 0;
}

}  // namespace feedmill
