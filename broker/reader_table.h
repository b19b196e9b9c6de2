#ifndef FEEDMILL_BROKER_READER_TABLE_H_
#define FEEDMILL_BROKER_READER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/dispatcher_state.h"
#include "broker/load_window.h"
#include "core/wire/message.h"

namespace feedmill {

// Answers to the hellos of lives that are over, by life. Bounded: the oldest
// answer is dropped first. Pure.
class PastLives {
 public:
  using Life = std::pair<SessionKey, Incarnation>;
  // Stores the answer; no effect if the life has one.
  void Add(const Life& life, const absl::Status& why);
  // Returns the answer; null if there is none.
  const absl::Status* Find(const Life& life) const;

 private:
  std::map<Life, absl::Status> why_;
  std::deque<Life> order_;
};

// A client as of its last message.
struct KnownReader {
  PeerId address;  // empty: not heard since the restart
  absl::Time heard;
  std::optional<absl::Time> beat_sent;  // to be answered in this call
  std::vector<LinkReport> links{};      // as last reported
  ReaderWindow window{};                // of its load, as last reported
  uint64_t used = 0;                    // elements, of an input; see NoteUse
  absl::Time used_since{};
  uint64_t depth_scale = 1;  // see SetDepths
};

// The volatile half of the sessions: one KnownReader for each session, the
// answers to lives that are over, and the loads that readers report. Pure.
class ReaderTable {
 public:
  // ---- readers with a session
  const std::map<SessionKey, KnownReader>& readers() const { return readers_; }
  size_t size() const { return readers_.size(); }
  // Returns the reader; null if the session has none.
  KnownReader* Find(const SessionKey& key);
  // REQUIRES: the session has a reader.
  const KnownReader& At(const SessionKey& key) const {
    return readers_.at(key);
  }
  // Records a message of the reader, and adds the reader if it is new.
  KnownReader& NoteHeard(const SessionKey& key, const PeerId& from,
                         absl::Time now);
  void Drop(const SessionKey& key) { readers_.erase(key); }
  // Drops the readers of all sessions of the job.
  void DropAll(const JobState& job);

  // ---- the last life of each consumer, in this life of the dispatcher
  void NoteMet(const SessionKey& key, Incarnation life, absl::Time now);
  // Returns the time at which the life, or a later one, was met first; nullopt
  // if it is not known.
  std::optional<absl::Time> MetAt(const SessionKey& key,
                                  Incarnation life) const;

  // ---- lives that are over. A late copy of their hello must not open a
  // session: its client has ended and would never read from it.
  void NoteRefused(const PastLives::Life& life, const absl::Status& why) {
    refused_.Add(life, why);
  }
  const absl::Status* WhyRefused(const PastLives::Life& life) const {
    return refused_.Find(life);
  }
  // Lives that another life has replaced.
  void NoteReplaced(const PastLives::Life& life, const absl::Status& why) {
    replaced_.Add(life, why);
  }
  const absl::Status* WhyReplaced(const PastLives::Life& life) const {
    return replaced_.Find(life);
  }

  // ---- loads, for operators
  struct SkippedElements {
    uint64_t added = 0;  // since the reader's last report
    uint64_t all = 0;    // of the job; jobs without a name are counted together
  };
  // Adds a report of a reader of the job.
  SkippedElements AddLoad(absl::Time now, const JobName& job,
                          KnownReader& reader, const ReaderLoad& load);
  // Sums of the reports of a job's readers; null before the first one. Jobs
  // without a name share the entry JobName().
  const JobTotals* TotalsOf(const JobName& job) const;
  void ForgetTotals(const JobName& job) { totals_.erase(job); }

 private:
  struct MetLife {
    Incarnation life;
    absl::Time at;
  };

  std::map<SessionKey, KnownReader> readers_;
  std::map<SessionKey, MetLife> met_;
  PastLives refused_;
  PastLives replaced_;
  std::map<JobName, JobTotals> totals_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_READER_TABLE_H_
