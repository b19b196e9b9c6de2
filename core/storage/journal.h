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

// A durable sequence of byte strings, events, in a folder that one process
// uses at a time, with a snapshot that stands for the first of them.
//
// Files: journal.db (SQLite, with its log journal.db-wal), journal.seal (how
// far the journal had come) and lock. Each event has a number, from 1, and the
// checksum of everything up to it, because SQLite's log ends silently at a bad
// frame. A commit that was cut short by a crash is undone; anything else that
// is missing or changed, and an older journal.db put back, is DataLoss. An
// older copy of the whole folder shows no trace here: only those who were told
// later numbers can notice it.
//
// Thread-compatible.
class Journal {
 public:
  // What was there at the start.
  struct Content {
    uint64_t snapshot_sequence = 0;  // the event that the snapshot includes
    std::optional<std::string> snapshot;
    std::vector<std::string> events;  // those after it, in order
  };

  // Makes the folder and an empty journal where there is none. DataLoss: what
  // is missing or damaged, and how to go on. FailedPrecondition: another
  // process has it, or another release wrote it.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(
      const std::string& folder);

  // Drawn when the journal was made; never 0.
  uint64_t id() const { return id_; }
  // Of the last event. All up to it are on disk.
  uint64_t sequence() const { return sequence_; }
  const Content& content() const { return content_; }
  void ForgetContent() { content_ = {}; }

  // Adds events and syncs them, all or none. After an error every later call
  // gives that error: an event is safe only if all before it are.
  absl::Status Append(std::span<const std::string> events);
  // Replaces all events by what they lead to.
  absl::Status Compact(std::string_view snapshot);
  // Whether the events take so much room that Compact pays: a snapshot is
  // written at most once for four times its size in events.
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
  ChainChecksum chain_{};  // of all up to sequence_
  Content content_;
  uint64_t snapshot_bytes_ = 0;
  uint64_t event_bytes_ = 0;  // since the snapshot
  absl::Status failure_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_H_
