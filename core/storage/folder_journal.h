#ifndef FEEDMILL_CORE_STORAGE_FOLDER_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_FOLDER_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/storage/folder_lock.h"
#include "core/storage/journal.h"
#include "core/storage/journal_chain.h"
#include "core/storage/journal_seal.h"
#include "core/storage/sqlite_database.h"

namespace feedmill {

// A journal in a folder, used by one process at a time.
//
// Files: journal.db (SQLite, with its log journal.db-wal), journal.seal (see
// JournalSeal) and lock. Each event is stored with the checksum of everything
// up to it, because SQLite's log ends silently at a damaged frame.
//
// A commit that a crash cut short is undone. Any other missing or changed data,
// and an older journal.db, is DataLoss. An older copy of the whole folder
// cannot be detected here; only clients that have seen later numbers can detect
// it.
class FolderJournal final : public Journal {
 public:
  // Makes the folder and an empty journal if there is none. DataLoss names the
  // missing or damaged part and the remedy. FailedPrecondition: another process
  // holds the journal, or another release wrote it. A standby waits for a
  // writer of this machine.
  static absl::StatusOr<std::unique_ptr<FolderJournal>> Open(
      const std::string& folder, const JournalWait& options = {});

  absl::Status Append(std::span<const std::string> events) override;
  absl::Status Compact(std::string_view snapshot) override;
  absl::Status SayAddress(const std::string& address) override {
    return lock_.SayAddress(address);
  }
  bool ticks() const override { return true; }
  // Looks for standbys. Nothing of it fails.
  absl::Status Tick() override;

 protected:
  absl::Status BeginAs(uint64_t id) override;

 private:
  FolderJournal(std::string folder, FolderLock lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  absl::Status Begin();
  absl::StatusOr<bool> HasTables() const;
  absl::Status Create();
  absl::Status Load();
  absl::Status LoadSnapshot();
  absl::Status LoadEvents();
  absl::Status CompareWithSeal();
  absl::Status PrepareWriting();
  absl::Status AppendAll(std::span<const std::string> events);
  absl::Status WriteSnapshot(std::string_view snapshot);
  JournalSeal::Mark mark() const { return {id_, sequence_, chain_}; }

  const std::string folder_;
  FolderLock lock_;
  std::unique_ptr<JournalSeal> seal_;
  std::unique_ptr<SqliteDatabase> database_;
  std::optional<SqliteStatement> insert_;  // after its database

  ChainChecksum chain_{};  // of all events up to sequence_
  absl::Status failure_;
  absl::Time looked_at_ = absl::InfinitePast();  // for standbys
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_FOLDER_JOURNAL_H_
