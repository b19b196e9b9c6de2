#ifndef FEEDMILL_CLIENT_READER_ROSTER_H_
#define FEEDMILL_CLIENT_READER_ROSTER_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// State of a reader, for metrics.
struct ReaderState {
  bool joined = false;  // it has its run; always true of a local read
  ReaderLoad load{};
  uint64_t reconnects = 0;  // see ReaderTotals
};

// Sums over all readers of this process with the same job and rank. A Loader
// has a reader for each epoch.
struct ReaderTotals {
  std::string job;  // "" for readers of jobs without a name
  uint64_t rank = 0;
  uint64_t open = 0;    // readers that exist now
  uint64_t joined = 0;  // of them, readers that have joined their job
  // Counters include readers that have ended. Gauges are of open readers.
  ReaderLoad load{};
  // Times that the dispatcher answered again after a silence, or that the
  // session was lost and the reader joined its job again.
  uint64_t reconnects = 0;
};

// The readers of this process, for metrics. A reader costs nothing until
// Totals is called.
//
// Thread-safety: any thread.
class ReaderRoster {
 public:
  // Registers a reader until it is destroyed. Destroy it before what the
  // reader's function uses.
  class Entry {
   public:
    Entry(ReaderRoster& roster, std::string job, uint64_t rank,
          std::function<ReaderState()> state);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class ReaderRoster;
    ReaderRoster& roster_;
    const std::pair<std::string, uint64_t> key_;
    const std::function<ReaderState()> state_;
    std::list<Entry*>::iterator place_;
  };

  static ReaderRoster& OfThisProcess();

  // Ordered by job and rank. At most kTotalsMax of them: counters of ended
  // readers of further jobs are added to the counters of jobs without a name.
  std::vector<ReaderTotals> Totals() const;

  static constexpr size_t kTotalsMax = 1'000;

 private:
  using Key = std::pair<std::string, uint64_t>;

  mutable std::mutex mu_;
  std::list<Entry*> open_;             // guarded by mu_
  std::map<Key, ReaderTotals> ended_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READER_ROSTER_H_
