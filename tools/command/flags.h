#ifndef FEEDMILL_TOOLS_COMMAND_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_FLAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// The flags of one subcommand. The only user of CLI11.
//
//   FlagSet flags("read", "Reads a pipeline.", kExamples);
//   flags.Duration("--timeout", "how long to wait", &timeout);
//   FM_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(arguments));
//   if (!go_on) return 0;  // --help was printed
//
// A variable keeps its value, which --help shows as the default, where its
// flag is not given. Not thread-safe.
class FlagSet {
 public:
  FlagSet(const std::string& command, const std::string& summary,
          const std::string& examples);
  ~FlagSet();
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  // A word without a flag; all take at most one, in order of declaration.
  void Positional(const std::string& name, const std::string& help,
                  std::string* value);
  void Bool(const std::string& name, const std::string& help, bool* value);
  // `type` stands for the value in --help: "HOST:PORT".
  void Text(const std::string& name, const std::string& type,
            const std::string& help, std::string* value);
  void OneOf(const std::string& name, const std::vector<std::string>& choices,
             const std::string& help, std::string* value);
  void Count(const std::string& name, uint64_t min, uint64_t max,
             const std::string& help, uint64_t* value);
  // "20s", "1h", "200ms"; above zero.
  void Duration(const std::string& name, const std::string& help,
                absl::Duration* value);
  // "256MiB", "64KiB", "1GiB", "1048576"; above zero.
  void Bytes(const std::string& name, const std::string& help, uint64_t* value);

  // Sets the variables. False: --help was given and printed. InvalidArgument
  // names the flag, and the nearest known one where it is unknown.
  absl::StatusOr<bool> Parse(const std::vector<std::string>& arguments);
  // Whether the flag was given. REQUIRES: Parse was called.
  bool Given(const std::string& name) const;
  // A usage error of this command: `message`, then where its help is.
  absl::Status Error(std::string_view message) const;

 private:
  struct App;
  const std::unique_ptr<App> app_;
};

// The parsers behind the flags. InvalidArgument says what is expected.
absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text);
absl::StatusOr<uint64_t> ParseBytes(const std::string& text);
absl::StatusOr<uint64_t> ParseCount(const std::string& text, uint64_t min,
                                    uint64_t max);
std::string FormatBytes(uint64_t bytes);  // ParseBytes takes it back

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_FLAGS_H_
