#include "broker/run_choice.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/base/status.h"

namespace feedmill {
namespace {

// Returns the error for a consumer that the other consumers left behind.
absl::Status LeftBehind(const JobState& job, const ConsumerId& consumer) {
  return FailedPrecondition(
      "job '{}' is at iteration {} by now: the other consumers continued "
      "(`take_over`) when '{}' had been silent for longer than the "
      "dispatcher's client timeout; start it again, from its token if it has "
      "one, and it continues with its own iteration",
      job.name.value(), job.iteration, consumer.value());
}

// True if the job has met a later life of that consumer.
bool IsLaterThan(const JobState& job, const Session& session) {
  const auto life = job.lives.find(session.consumer);
  return life != job.lives.end() && session.incarnation < life->second;
}

}  // namespace

RunNumber RunOf(const ClientHello& hello, const JobState& job) {
  if (hello.run) return *hello.run;
  const auto it = job.finished.find(hello.share.rank);
  if (hello.share.ranks == job.ranks && it != job.finished.end()) {
    return RunNumber(it->second.value() + 1);
  }
  return job.over() ? RunNumber(job.run.value() + 1) : job.run;
}

std::optional<uint64_t> RankOf(const ConsumerId& consumer,
                               const JobState& job) {
  if (job.order != Order::kDeterministic) return std::nullopt;
  if (job.ranks == 1) return 0;
  const std::string& name = consumer.value();
  uint64_t rank = 0;
  std::from_chars(name.data(), name.data() + name.size(), rank);
  if (rank < job.ranks && name == fmt::format("{}/{}", rank, job.ranks)) {
    return rank;
  }
  return std::nullopt;
}

bool Outlived(const ClientHello& hello, const JobState& job) {
  return hello.share.ranks != job.ranks &&
         std::any_of(job.lives.begin(), job.lives.end(), [&](const auto& life) {
           return hello.session.incarnation < life.second;
         });
}

bool IsLatestLife(const Session& session, const JobState& job) {
  const auto life = job.lives.find(session.consumer);
  return life == job.lives.end() || life->second < session.incarnation;
}

bool IsLastLife(const Session& session, const JobState& job) {
  const auto life = job.lives.find(session.consumer);
  return life != job.lives.end() && life->second == session.incarnation;
}

// A reader goes back to its own, earlier run: the application has discarded
// what the reader's former life read after that point.
bool GoesBack(const ClientHello& hello, const JobState& job) {
  return job.order == Order::kDeterministic && !Outlived(hello, job) &&
         IsLatestLife(hello.session, job);
}

absl::Status WhyOld(const ClientHello& hello, const JobState& job) {
  const std::string& consumer = hello.session.consumer.value();
  const uint64_t own = RunOf(hello, job).value() - 1;
  if (Outlived(hello, job)) {
    return FailedPrecondition(
        "job '{}' is at iteration {} by now, and read by {} consumers; '{}' is "
        "one of {}, and continues with iteration {}",
        job.name.value(), job.iteration, job.ranks, consumer, hello.share.ranks,
        own);
  }
  if (job.order == Order::kDeterministic && job.ranks > 1) {
    return LeftBehind(job, hello.session.consumer);
  }
  return FailedPrecondition(
      "job '{}' is at iteration {} by now, and this reader, '{}', continues "
      "iteration {}, which is over",
      job.name.value(), job.iteration, consumer, own);
}

absl::Status TakenOver(const JobName& job, const ConsumerId& consumer) {
  return FailedPrecondition(
      "another reader took over job \"{}\" as \"{}\"; this one stops",
      job.value(), consumer.value());
}

absl::Status WhyOver(const Session& session, const JobState& job, bool closed) {
  const std::string& consumer = session.consumer.value();
  if (IsLaterThan(job, session)) {
    return TakenOver(job.name, session.consumer);
  }
  if (job.order == Order::kDeterministic && job.ranks > 1 && !closed &&
      job.lives.contains(session.consumer)) {
    return LeftBehind(job, session.consumer);
  }
  return FailedPrecondition(
      "job \"{}\" is at iteration {} by now, and is read by others than "
      "\"{}\"; this one stops",
      job.name.value(), job.iteration, consumer);
}

}  // namespace feedmill
