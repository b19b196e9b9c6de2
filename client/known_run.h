#ifndef FEEDMILL_CLIENT_KNOWN_RUN_H_
#define FEEDMILL_CLIENT_KNOWN_RUN_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "client/session_rules.h"
#include "client/session_settings.h"
#include "core/wire/message.h"

namespace feedmill {

// The run that a session reads, as far as the session knows it. Checks that the
// dispatcher's answers are of this run, also after the dispatcher lost its
// state. Pure.
class KnownRun {
 public:
  // The references must outlive this object.
  KnownRun(const ReadSessionSettings& settings, const SessionRules& rules)
      : settings_(settings), rules_(rules) {}

  const std::optional<RunInfo>& info() const { return info_; }
  // Takes the run of an answer. `cursor`: the session has read all before it.
  // False: the answer is out of date, or answers a late copy of a hello.
  // FailedPrecondition: the elements read so far are of another run.
  absl::StatusOr<bool> Take(const RunInfo& run, Cursor cursor);
  // Names the run in a hello. REQUIRES: the hello has its cursor.
  void Name(ClientHello& hello) const;
  // True if elements before `end` extend beyond the first pass and the run's
  // number of passes may still change. A reader that has nothing of the second
  // pass can continue in a run of any number of passes. REQUIRES: info().
  bool IsUnsettled(Cursor end) const;
  // True if no element is at or after `cursor`. REQUIRES: info().
  bool EndsBefore(Cursor cursor) const {
    return rules_.EndKnown(*info_) && cursor.p >= info_->positions;
  }

 private:
  uint64_t KnownPasses(Cursor cursor) const;

  const ReadSessionSettings& settings_;
  const SessionRules& rules_;
  std::optional<RunInfo> info_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_KNOWN_RUN_H_
