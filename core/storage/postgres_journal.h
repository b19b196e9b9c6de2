#ifndef FEEDMILL_CORE_STORAGE_POSTGRES_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_POSTGRES_JOURNAL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/net/clock.h"
#include "core/storage/journal.h"
#include "core/storage/journal_chain.h"
#include "core/storage/libpq.h"

namespace feedmill {

// A journal in four tables of PostgreSQL: feedmill_states (a row for each
// journal, with the lease of its writer), feedmill_events, feedmill_snapshots,
// and feedmill_standbys, whose absence is no error.
//
// The writer holds a lease on the server's clock, with a number that grows with
// each writer, its epoch. Every append is conditional on the epoch, and locks
// the lease's row. So a writer that stood still is refused by the server. After
// a lost connection the last event is read again before anything is retried: a
// commit may have been executed although its answer was lost.
//
// A server that replicates asynchronously may lose the last events when a copy
// takes over: set synchronous_standby_names. Peers notice it otherwise, and the
// dispatcher refuses to serve.
//
// Thread-compatible.
class PostgresJournal final : public Journal {
 public:
  struct Options : JournalWait {
    absl::Duration lease = absl::Milliseconds(2'500);
    absl::Duration beat = absl::Milliseconds(700);
    absl::Duration patience = absl::Seconds(60);  // with a server that is away
  };

  // `url`: "postgresql://user@host,host2/database?state=NAME" and libpq's other
  // options; the name of the journal is "default" without `state`. Makes the
  // tables and an empty journal if there is none.
  static absl::StatusOr<std::unique_ptr<PostgresJournal>> Open(
      const std::string& url, Options options);
  ~PostgresJournal() override;

  absl::Status Append(std::span<const std::string> events) override;
  absl::Status Compact(std::string_view snapshot) override;
  uint64_t term() const override { return epoch_; }
  absl::Duration certain_for() const override {
    return std::max(certain_until_ - SteadyNow(), absl::ZeroDuration());
  }
  bool ticks() const override { return true; }
  absl::Status Tick() override;
  absl::Status SayAddress(const std::string& address) override;

 protected:
  absl::Status BeginAs(uint64_t id) override;

 private:
  PostgresJournal(std::string name, Options options);

  absl::Status Begin(const std::string& url);
  absl::Status MakeTables();
  absl::Status TakeLease();
  // Reads the journal, or what was added since the last call.
  absl::Status Load();
  absl::Status LoadSnapshot();
  absl::Status LoadEvents();
  // Reads what was added while it waits, and shows that it waits.
  absl::Status Follow();
  void ShowStandby();
  void HideStandby();
  // Looks for standbys. Errors are ignored.
  void LookForStandbys();
  // True if event `sequence` is there with that checksum.
  absl::StatusOr<bool> EndsWith(uint64_t sequence, const ChainChecksum& chain);
  absl::Status Fail(absl::Status why);
  absl::Status Fenced();
  // Runs a statement that may be repeated.
  absl::StatusOr<PostgresConnection::Result> Repeat(
      const std::string& statement, const std::vector<std::string>& parameters);

  const std::string name_;
  const Options options_;
  std::unique_ptr<PostgresConnection> server_;
  std::string holder_;
  uint64_t epoch_ = 0;
  ChainChecksum chain_{};
  absl::Time beaten_at_ = absl::InfinitePast();
  absl::Time certain_until_ = absl::InfinitePast();
  bool loaded_ = false;
  uint64_t snapshot_sequence_ = 0;  // of what was read
  absl::Time follow_at_ = absl::InfinitePast();
  absl::Time shown_at_ = absl::InfinitePast();   // as a standby
  absl::Time looked_at_ = absl::InfinitePast();  // for standbys
  absl::Status failure_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_POSTGRES_JOURNAL_H_
