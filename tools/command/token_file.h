#ifndef FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
#define FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// In all functions, `path` may also be the URL of an object ("s3://bucket/t0").

// True if SaveFile creates or replaces a file at that path. False for a pipe
// or device, where earlier output remains.
bool IsTokenFile(const std::string& path);

// Reads the bytes of a token file. `what` names it in errors, e.g. "--token
// at100".
absl::StatusOr<std::string> LoadToken(const std::string& what,
                                      const std::string& path);
// Saves atomically: the file has either the new or the old content.
absl::Status SaveFile(const std::string& what, const std::string& path,
                      const std::string& bytes);

// When the token of a read is saved, besides its beginning and its end.
struct SaveInterval {
  uint64_t elements = 0;  // 0: not by their number
  absl::Duration time = absl::InfiniteDuration();
};

// "1000": elements; "30s": time. InvalidArgument for neither.
absl::StatusOr<SaveInterval> ParseSaveInterval(const std::string& text);

// Saves the token of a read in intervals.
class TokenSaver {
 public:
  // `save` saves the token of the place before the last `unread` elements.
  TokenSaver(SaveInterval every,
             std::function<absl::Status(uint64_t unread)> save);

  // Number of elements until the next token that is due by their number.
  uint64_t Room() const;
  // `rows` more elements were written, `unread` of the reader's were not. Saves
  // if it is due. After an error, the same error.
  absl::Status Wrote(uint64_t rows, uint64_t unread);
  // Saves if the time has come; keeps an error for Wrote.
  void Look(uint64_t unread);

 private:
  void Save(uint64_t unread);

  const SaveInterval every_;
  const std::function<absl::Status(uint64_t unread)> save_;
  uint64_t written_ = 0;  // since the last token
  absl::Time saved_;
  absl::Status status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TOKEN_FILE_H_
