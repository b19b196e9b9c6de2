#ifndef FEEDMILL_BROKER_PYTHON_FLEET_H_
#define FEEDMILL_BROKER_PYTHON_FLEET_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "core/dataset/python_versions.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// The Python interpreters of the workers, and the functions that they can run.
// Pure.
class PythonFleet {
 public:
  // The references must outlive this object. Before `begin`, workers that the
  // dispatcher knew may still register.
  PythonFleet(const DispatcherContext& context, absl::Time begin)
      : context_(context), begin_(begin) {}

  void NoteJoin(absl::Time now) { last_join_ = now; }
  // Takes the interpreter that a heartbeat describes. Returns true if it was
  // not known before.
  bool Take(const WorkerBeat& beat, KnownWorker& worker);
  // True if a worker can run functions with these needs, also a draining one.
  bool SomeCanRun(const PythonNeedsPtr& needs) const;
  // Returns the reason why no worker can run the functions. OK if one can, or
  // if one may still report that it can.
  absl::Status WhyNoneRuns(absl::Time now, const PythonNeedsPtr& needs) const;

 private:
  const DispatcherContext& context_;
  const absl::Time begin_;
  absl::Time last_join_ = absl::InfinitePast();
  // The interpreter of the last worker that described one. Most have the same.
  std::shared_ptr<const PythonInterpreter> last_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PYTHON_FLEET_H_
