#include "broker/steady_verdict.h"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

bool Agree(const Verdict& a, const Verdict& b) {
  return a.bound_by == b.bound_by && a.where == b.where;
}

}  // namespace

size_t SteadyVerdict::Count(BoundBy bound) const {
  return static_cast<size_t>(std::count_if(
      judgements_.begin(), judgements_.end(),
      [&](const Verdict& each) { return each.bound_by == bound; }));
}

size_t SteadyVerdict::Count(const Verdict& like) const {
  return static_cast<size_t>(
      std::count_if(judgements_.begin(), judgements_.end(),
                    [&](const Verdict& each) { return Agree(each, like); }));
}

void SteadyVerdict::Add(Verdict judgement) {
  if (!judgement.measured) {
    judgements_.clear();
    return;
  }
  judgements_.push_back(std::move(judgement));
  if (judgements_.size() > kKept) judgements_.pop_front();
  const Verdict& last = judgements_.back();
  if (judgements_.size() < kKept) {
    reported_ = last;
    return;
  }
  if (last.bound_by != reported_.bound_by) {
    if (Count(last.bound_by) >= kChangeAt) reported_ = last;
    return;
  }
  if (last.where == reported_.where || Count(last) > Count(reported_)) {
    reported_ = last;
  }
}

Verdict SteadyVerdict::Report(Verdict fresh) const {
  if (!fresh.measured || judgements_.empty()) return fresh;
  return Agree(fresh, reported_) ? std::move(fresh) : reported_;
}

}  // namespace feedmill
