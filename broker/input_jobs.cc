#include "broker/input_jobs.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>

#include "core/wire/input_job.h"

namespace feedmill {
namespace {

constexpr uint64_t kScaleMax = 256;
// Elements, before which all inputs are alike.
constexpr uint64_t kFirstUse = 8;

// Calls use(session, reader) for the readers of all jobs whose names begin so,
// until it returns true. Returns whether it did.
template <class Use>
bool AnyReader(const DispatcherContext& context, std::string_view prefix,
               const Use& use) {
  const auto& readers = context.readers.readers();
  for (auto it = readers.lower_bound({JobName(std::string(prefix)), {}});
       it != readers.end() && it->first.job.value().starts_with(prefix); ++it) {
    if (use(it->first, it->second)) return true;
  }
  return false;
}

// Calls use(session, reader) for all inputs of the read of which the job is
// one.
template <class Use>
void ForInputsOfOneRead(const DispatcherContext& context, const JobName& job,
                        const Use& use) {
  const std::string_view one = InputReaderOf(job);
  AnyReader(context, InputJobPrefixOf(job),
            [&](const SessionKey& key, const KnownReader& reader) {
              if (InputReaderOf(key.job) == one) use(key, reader);
              return false;
            });
}

// Returns the elements that the reader used of the input of which it used most.
uint64_t MostUsed(const DispatcherContext& context, const JobName& job) {
  uint64_t most = 0;
  ForInputsOfOneRead(context, job,
                     [&](const SessionKey&, const KnownReader& each) {
                       most = std::max(most, each.used);
                     });
  return most;
}

// Powers of 2 are compared, so that scales change rarely.
uint64_t DepthScale(uint64_t used, uint64_t most) {
  return std::min(kScaleMax, std::bit_floor(most + kFirstUse) /
                                 std::bit_floor(used + kFirstUse));
}

// True if the reader has elements of the head ahead for some time. By reports
// and heartbeats, it takes part of a second until a worker continues it.
bool IsAhead(const KnownReader& reader, const SplitState& head,
             absl::Time now) {
  const auto ahead = static_cast<double>(ElementsBetween(head.out, head.taken));
  const double seconds = absl::ToDoubleSeconds(now - reader.used_since);
  return ahead > 0 && ahead * seconds >= static_cast<double>(reader.used);
}

}  // namespace

uint64_t ElementsBetween(Cursor from, Cursor to) {
  return to.p == from.p ? to.i - from.i : to.p - from.p + to.i;
}

void SetDepths(DispatcherContext& context, const SessionKey& key,
               absl::Time now) {
  const SessionState& session = *context.state->FindSession(key);
  if (session.waiting.empty()) return;
  uint64_t depth = 0;
  uint64_t scale = 1;
  if (!InputJobPrefixOf(key.job).empty()) {
    KnownReader& reader = *context.readers.Find(key);
    scale = reader.depth_scale =
        DepthScale(reader.used, MostUsed(context, key.job));
    // Splits after the head may be served, too, but the reader waits for it.
    const SplitId& first = *session.waiting.begin();
    depth = static_cast<uint64_t>(
        std::distance(session.splits.begin(), session.splits.find(first)));
    if (IsAhead(reader, *context.state->FindSplit(first), now)) ++depth;
    depth *= scale;
  }
  for (const SplitId& split : session.waiting) {
    context.leases.SetDepth(split, static_cast<uint32_t>(depth));
    depth += scale;
  }
}

void NoteUse(DispatcherContext& context, const SessionKey& key,
             uint64_t elements, bool moved, absl::Time now) {
  if (InputJobPrefixOf(key.job).empty()) {
    if (moved) SetDepths(context, key, now);
    return;
  }
  KnownReader& reader = *context.readers.Find(key);
  if (reader.used == 0) reader.used_since = now;
  reader.used += elements;
  SetDepths(context, key, now);
  const uint64_t most = MostUsed(context, key.job);
  ForInputsOfOneRead(context, key.job,
                     [&](const SessionKey& other, const KnownReader& each) {
                       if (DepthScale(each.used, most) != each.depth_scale) {
                         SetDepths(context, other, now);
                       }
                     });
}

bool WaitsForInput(const DispatcherContext& context, const JobState& job,
                   absl::Time now) {
  return AnyReader(
      context, InputJobPrefix(job.fingerprint),
      [&](const SessionKey& key, const KnownReader& reader) {
        const SessionState& session = *context.state->FindSession(key);
        if (session.waiting.empty() ||
            now - reader.heard > context.clock.ParkAfter()) {
          return false;
        }
        const SplitId head = *session.waiting.begin();
        const SplitState& split = *context.state->FindSplit(head);
        return *session.splits.begin() == head && split.out == split.taken;
      });
}

}  // namespace feedmill
