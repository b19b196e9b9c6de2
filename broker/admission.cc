#include "broker/admission.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "broker/run_choice.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr size_t kGraphBytesMax = size_t{16} << 20;

std::string_view OrderName(Order order) {
  return order == Order::kAny ? "any" : "deterministic";
}

}  // namespace

bool Conflict(const Share& a, const Share& b) {
  return a.ranks != b.ranks || a.rank == b.rank;
}

absl::Status Admission::CheckForm(const ClientHello& hello) {
  if (hello.job.value().empty() || hello.session.consumer.value().empty()) {
    return InvalidArgument("the hello lacks a job or a consumer name");
  }
  if (hello.job.value().size() > kNameBytesMax ||
      hello.session.consumer.value().size() > kNameBytesMax) {
    return InvalidArgument("job and consumer names have at most {} bytes",
                           kNameBytesMax);
  }
  if (hello.graph.size() > kGraphBytesMax) {
    return InvalidArgument("the pipeline has {} bytes, more than {}",
                           hello.graph.size(), kGraphBytesMax);
  }
  if (!hello.share.sound()) {
    return InvalidArgument("there is no rank {} of {}", hello.share.rank,
                           hello.share.ranks);
  }
  if (!hello.share.whole() && hello.order != Order::kDeterministic) {
    return InvalidArgument(
        "ranks need order deterministic; with order any, readers share a job "
        "by its name alone");
  }
  if (!hello.share.whole() &&
      hello.session.consumer.value() !=
          fmt::format("{}/{}", hello.share.rank, hello.share.ranks)) {
    return InvalidArgument("rank {} of {} cannot be named '{}'",
                           hello.share.rank, hello.share.ranks,
                           hello.session.consumer.value());
  }
  if (hello.run && hello.run->value() == 0) {
    return InvalidArgument("run numbers begin at 1");
  }
  return absl::OkStatus();
}

bool Admission::FindsUnread(absl::Time now, const ClientHello& hello) const {
  const JobState* job = context_.state->FindJob(hello.job);
  if (context_.clock.MayJudge(now) || job == nullptr || hello.take_over ||
      job->order != Order::kDeterministic || job->over()) {
    return false;
  }
  return std::any_of(
      job->sessions.begin(), job->sessions.end(), [&](const auto& entry) {
        return Conflict(entry.second.share, hello.share) &&
               context_.readers.At({hello.job, entry.first}).heard <
                   context_.clock.heard_from();
      });
}

absl::Status Admission::Check(absl::Time now, const ClientHello& hello) const {
  const JobState* job = context_.state->FindJob(hello.job);
  if (job == nullptr || job->phase == RunPhase::kFailed) {
    return absl::OkStatus();
  }
  const std::string& name = hello.job.value();
  if (hello.graph != job->graph) {
    FM_ASSIGN_OR_RETURN(const std::string fingerprint,
                        context_.planner.fingerprint(hello.graph));
    if (fingerprint != job->fingerprint) {
      return FailedPrecondition(
          "job '{}' exists with another pipeline (fingerprint {}, this one "
          "has {}); read it under another `job` name",
          name, job->fingerprint, fingerprint);
    }
  }
  if (job->sequenced && hello.sequencing == Sequencing::kNever &&
      RunOf(hello, *job) == job->run) {
    return FailedPrecondition(
        "one worker puts the elements of job '{}' in order for its ranks, and "
        "this reader cannot read that: it has an older version than the other "
        "readers, or has lost its dispatcher's state; start it again with the "
        "others' version",
        name);
  }
  if (hello.order != job->order) {
    return FailedPrecondition(
        "job '{}' exists with order {}, this reader wants {}; set "
        "options.order to the same or use another `job` name",
        name, OrderName(job->order), OrderName(hello.order));
  }
  if (context_.readers.size() >= context_.settings.sessions_max) {
    return ResourceExhausted(
        "the dispatcher has {} readers, its limit; try again later",
        context_.readers.size());
  }
  // The job counts as read even without sessions: ranks at their end may wait
  // for another rank.
  const bool read =
      !job->over() && (!job->sessions.empty() || job->DoneRanks() > 0);
  if ((read || hello.run) && Outlived(hello, *job)) {
    return FailedPrecondition(
        "job '{}' is read by {} consumers by now; this one is of {}", name,
        job->ranks, hello.share.ranks);
  }
  FM_RETURN_IF_ERROR(settler_.Check(hello, *job));
  const bool goes_on = context_.rules->GoesOn(hello);
  if (job->order != Order::kDeterministic || hello.take_over ||
      job->phase == RunPhase::kFinished || (goes_on && *hello.run > job->run)) {
    return absl::OkStatus();
  }
  for (const auto& [consumer, session] : job->sessions) {
    if (!Conflict(session.share, hello.share)) continue;
    if (!context_.clock.LeaseValid(now, *job, {hello.job, consumer})) continue;
    // A reader that continues its run replaces its earlier lives. If the
    // dispatcher lost its state, an earlier life may have joined again first.
    if (goes_on && session.incarnation < hello.session.incarnation &&
        (consumer == hello.session.consumer ||
         session.share.ranks != hello.share.ranks)) {
      continue;
    }
    return FailedPrecondition(
        "job '{}' is being read by '{}'; with order deterministic it has one "
        "reader, or one for each `rank`: stop that one, use `take_over`, or "
        "options.order any to share the job",
        name, consumer.value());
  }
  return absl::OkStatus();
}

}  // namespace feedmill
