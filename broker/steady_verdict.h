#ifndef FEEDMILL_BROKER_STEADY_VERDICT_H_
#define FEEDMILL_BROKER_STEADY_VERDICT_H_

#include <cstddef>
#include <deque>

#include "absl/time/time.h"
#include "broker/verdict.h"

namespace feedmill {

// Keeps the reported verdict on a job from changing with each judgement, since
// judgements follow from samples. Another bound is reported if kChangeAt of the
// last kKept judgements name it. Of that bound, the place that most judgements
// name is reported. Pure.
//
// Facts (Verdict::measured is false) are reported at once, and make the
// judgements before them void. Until there are kKept judgements, the last one
// is reported.
class SteadyVerdict {
 public:
  // Time between two judgements.
  static constexpr absl::Duration kInterval = absl::Seconds(1);
  static constexpr size_t kKept = 5;
  static constexpr size_t kChangeAt = 4;

  void Add(Verdict judgement);
  // Returns the verdict to report. `fresh` is a judgement of now; it is
  // returned if it agrees with the reported bound and place.
  Verdict Report(Verdict fresh) const;

 private:
  size_t Count(BoundBy bound) const;
  size_t Count(const Verdict& like) const;

  std::deque<Verdict> judgements_;  // oldest first
  Verdict reported_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_STEADY_VERDICT_H_
