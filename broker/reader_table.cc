#include "broker/reader_table.h"

namespace feedmill {
namespace {

constexpr size_t kLivesMax = 1'000;  // lives that are kept

}  // namespace

void PastLives::Add(const Life& life, const absl::Status& why) {
  if (why_.emplace(life, why).second) order_.push_back(life);
  if (order_.size() <= kLivesMax) return;
  why_.erase(order_.front());
  order_.pop_front();
}

const absl::Status* PastLives::Find(const Life& life) const {
  const auto it = why_.find(life);
  return it == why_.end() ? nullptr : &it->second;
}

namespace {

constexpr size_t kMetMax = 10'000;  // consumers whose last life is kept

}  // namespace

void ReaderTable::NoteMet(const SessionKey& key, Incarnation life,
                          absl::Time now) {
  const auto found = met_.find(key);
  if (found != met_.end()) {
    if (found->second.life < life) found->second = {life, now};
  } else if (met_.size() < kMetMax) {
    met_.emplace(key, MetLife{life, now});
  }
}

std::optional<absl::Time> ReaderTable::MetAt(const SessionKey& key,
                                             Incarnation life) const {
  const auto found = met_.find(key);
  if (found == met_.end() || found->second.life < life) return std::nullopt;
  return found->second.at;
}

KnownReader* ReaderTable::Find(const SessionKey& key) {
  const auto it = readers_.find(key);
  return it == readers_.end() ? nullptr : &it->second;
}

KnownReader& ReaderTable::NoteHeard(const SessionKey& key, const PeerId& from,
                                    absl::Time now) {
  KnownReader& reader = readers_[key];
  reader.address = from;
  reader.heard = now;
  return reader;
}

void ReaderTable::DropAll(const JobState& job) {
  for (const auto& [consumer, session] : job.sessions) {
    readers_.erase({job.name, consumer});
  }
}

ReaderTable::SkippedElements ReaderTable::AddLoad(absl::Time now,
                                                  const JobName& job,
                                                  KnownReader& reader,
                                                  const ReaderLoad& load) {
  // Another life of a reader counts from zero.
  const bool restarted = load.elapsed < reader.window.last().elapsed;
  const ReaderLoad before = restarted ? ReaderLoad() : reader.window.last();
  JobTotals& totals = totals_[job.value().starts_with('@') ? JobName() : job];
  const auto rise = [](uint64_t last, uint64_t first) {
    return last < first ? 0 : last - first;
  };
  totals.elements += rise(load.elements, before.elements);
  totals.bytes += rise(load.bytes, before.bytes);
  const uint64_t skipped = rise(load.skipped, before.skipped);
  totals.skipped += skipped;
  totals.elapsed_s += absl::ToDoubleSeconds(load.elapsed - before.elapsed);
  totals.waited_s += absl::ToDoubleSeconds(load.waited - before.waited);
  totals.stage_s += absl::ToDoubleSeconds(load.stage - before.stage);
  ReaderLoad kept = load;
  kept.skipped_elements.clear();
  if (kept.unreachable.size() > ReaderLoad::kUnreachableMax) {
    kept.unreachable.resize(ReaderLoad::kUnreachableMax);
  }
  reader.window.Add(now, kept);
  return {skipped, totals.skipped};
}

const JobTotals* ReaderTable::TotalsOf(const JobName& job) const {
  const auto it = totals_.find(job);
  return it == totals_.end() ? nullptr : &it->second;
}

}  // namespace feedmill
