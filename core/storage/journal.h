#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/storage/folder_lock.h"
#include "core/storage/journal_seal.h"
#include "core/storage/sqlite_database.h"

namespace feedmill {

// A durable sequence of byte strings (events) in a folder, used by one process
// at a time. A snapshot replaces the oldest events.
//
// Files: journal.db (SQLite, with its log journal.db-wal), journal.seal (see
// JournalSeal) and lock. Events are numbered from 1. Each is stored with the
// checksum of everything up to it, because SQLite's log ends silently at a
// damaged frame.
//
// A commit that a crash cut short is undone. Any other missing or changed data,
// and an older journal.db, is DataLoss. An older copy of the whole folder
// cannot be detected here; only clients that have seen later numbers can detect
// it.
//
// Thread-compatible.
class Journal {
 public:
  // Content at the time of Open.
  struct Content {
    uint64_t snapshot_sequence = 0;  // the last event in the snapshot
    std::optional<std::string> snapshot;
    std::vector<std::string> events;  // events after the snapshot, in order
  };

  // Makes the folder and an empty journal if there is none. DataLoss names the
  // missing or damaged part and the remedy. FailedPrecondition: another process
  // holds the journal, or another release wrote it.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(
      const std::string& folder);

  // A random id drawn when the journal was made; never 0.
  uint64_t id() const { return id_; }
  // Number of the last event. All events up to it are on disk.
  uint64_t sequence() const { return sequence_; }
  const Content& content() const { return content_; }
  void ForgetContent() { content_ = {}; }

  // Appends and syncs events, all or none. After an error every later call
  // returns the same error, because an event is safe only if all before it are.
  absl::Status Append(std::span<const std::string> events);
  // Replaces all events by a snapshot of the state that they lead to.
  absl::Status Compact(std::string_view snapshot);
  // True if the events are large enough for Compact to pay: a snapshot is
  // written at most once per four times its size in events.
  bool worth_compacting() const;

  absl::Status SayAddress(const std::string& address) {
    return lock_.SayAddress(address);
  }

 private:
  Journal(std::string folder, FolderLock lock)
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

  uint64_t id_ = 0;
  uint64_t sequence_ = 0;
  ChainChecksum chain_{};  // of all events up to sequence_
  Content content_;
  uint64_t snapshot_bytes_ = 0;
  uint64_t event_bytes_ = 0;  // since the snapshot
  absl::Status failure_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_H_
