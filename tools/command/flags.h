#ifndef FEEDMILL_TOOLS_COMMAND_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// Description of a flag, for --help, completion and man pages.
struct FlagEntry {
  std::string name;    // "--work-dir", or e.g. "URI" for a positional argument
  std::string type{};  // "DIR"; "" for a flag without a value
  std::string help{};  // a sentence without its full stop
  std::string shown_default{};
  std::vector<std::string> choices{};
};
struct FlagTable {
  std::string command;
  std::string summary;
  std::string examples;
  std::string variable_prefix;  // "FEEDMILL_WORKER_"; "" if not Configurable
  std::vector<FlagEntry> entries;
};

// Returns this process's variables whose names begin with FEEDMILL_.
std::map<std::string, std::string> FeedmillVariables();

// The flags of one subcommand. The only user of CLI11.
//
//   FlagSet flags("read", "Reads a pipeline.", kExamples);
//   flags.Duration("--timeout", "how long to wait", &timeout);
//   FM_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(arguments));
//   if (!go_on) return 0;  // --help was printed
//
// If a flag is not given, its variable keeps its value, which --help shows as
// the default. Not thread-safe.
class FlagSet {
 public:
  FlagSet(const std::string& command, const std::string& summary,
          const std::string& examples);
  ~FlagSet();
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  // An optional positional argument; in order of declaration.
  void Positional(const std::string& name, const std::string& help,
                  std::string* value);
  // The remaining positional arguments, any number; declared last.
  void Positionals(const std::string& name, const std::string& help,
                   std::vector<std::string>* values);
  void Bool(const std::string& name, const std::string& help, bool* value);
  // `type`: placeholder for the value in --help, e.g. "HOST:PORT". The name of
  // a flag with a value may have a short form before it: "-n,--elements".
  void Text(const std::string& name, const std::string& type,
            const std::string& help, std::string* value);
  void OneOf(const std::string& name, const std::vector<std::string>& choices,
             const std::string& help, std::string* value);
  void Count(const std::string& name, uint64_t min, uint64_t max,
             const std::string& help, uint64_t* value);
  void Count(const std::string& name, uint32_t min, uint32_t max,
             const std::string& help, uint32_t* value);
  // "4", which is both, or "1..8".
  void Range(const std::string& name, uint64_t min, uint64_t max,
             const std::string& help, uint64_t* least, uint64_t* most);
  // "20s", "1h", "200ms"; above zero. `bare`: the value of the flag without a
  // value; zero: the flag needs one.
  void Duration(const std::string& name, const std::string& help,
                absl::Duration* value,
                absl::Duration bare = absl::ZeroDuration());
  // "256MiB", "64KiB", "1GiB", "1048576"; above zero. Zero means: not given.
  void Bytes(const std::string& name, const std::string& help, uint64_t* value);

  // Lets every flag also be set by a variable of `variables`,
  // FEEDMILL_COMMAND_FLAG (e.g. FEEDMILL_WORKER_WORK_DIR), or by the file of
  // --config (work_dir: …). A flag overrides a variable, and a variable the
  // file. --print-config prints the result in the file's format.
  void Configurable(
      std::map<std::string, std::string> variables = FeedmillVariables());

  // Sets the variables. Returns false if --help or --print-config was given and
  // printed, or `describe` was filled in instead. InvalidArgument names the
  // flag, variable or line, and the nearest known name if it is unknown.
  absl::StatusOr<bool> Parse(const std::vector<std::string>& arguments,
                             FlagTable* describe = nullptr);
  // True if the flag was set, from any source. REQUIRES: Parse was called.
  bool Given(const std::string& name) const;
  // Returns a usage error of this command: `message`, and how to get help.
  absl::Status Error(std::string_view message) const;

 private:
  struct App;
  absl::Status ParseWords(const std::vector<std::string>& arguments,
                          bool* help);
  absl::Status TakeVariables();
  absl::Status TakeFile();
  std::string PrintedConfig() const;
  const std::unique_ptr<App> app_;
};

// Parsers of flag values. InvalidArgument says what is expected.
absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text);
absl::StatusOr<uint64_t> ParseBytes(const std::string& text);
absl::StatusOr<uint64_t> ParseCount(const std::string& text, uint64_t min,
                                    uint64_t max);
// Parses "4" or "1..8" into least and most.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseRange(
    const std::string& text, uint64_t min, uint64_t max);
std::string FormatRange(uint64_t least, uint64_t most);
std::string FormatBytes(uint64_t bytes);  // inverse of ParseBytes

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_FLAGS_H_
