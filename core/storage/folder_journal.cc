#include "core/storage/folder_journal.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/storage/standby_file.h"

namespace feedmill {
namespace {

constexpr uint64_t kRowBytes = 64;  // SQLite's overhead for each event
constexpr absl::Duration kBetweenStandbyLooks = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::unique_ptr<FolderJournal>> FolderJournal::Open(
    const std::string& folder, const JournalWait& options) {
  FM_ASSIGN_OR_RETURN(FolderLock lock,
                      FolderLock::Take(folder, options.wait, options.stop));
  std::unique_ptr<FolderJournal> journal(
      new FolderJournal(folder, std::move(lock)));
  const absl::Status status = journal->Begin();
  if (absl::IsDataLoss(status)) {
    return DataLoss(
        "the journal in '{}' cannot be used: {}. Restore the whole folder as "
        "it was last, or delete it: then jobs are forgotten and readers start "
        "again",
        folder, ErrorText(status));
  }
  FM_RETURN_IF_ERROR(
      Annotate(status, fmt::format("the journal in '{}'", folder)));
  return journal;
}

absl::Status FolderJournal::Begin() {
  FM_ASSIGN_OR_RETURN(seal_, JournalSeal::Open(folder_ + "/journal.seal"));
  FM_ASSIGN_OR_RETURN(database_, SqliteDatabase::Open(folder_ + "/journal.db"));
  FM_ASSIGN_OR_RETURN(const bool there, HasTables());
  if (!there) {
    if (seal_->mark()) {
      return DataLoss("journal.db is gone or empty, with all {} events",
                      seal_->mark()->sequence);
    }
    FM_RETURN_IF_ERROR(Create());
  }
  content_.whole = true;
  FM_RETURN_IF_ERROR(Load());
  FM_RETURN_IF_ERROR(CompareWithSeal());
  return PrepareWriting();
}

absl::StatusOr<bool> FolderJournal::HasTables() const {
  FM_ASSIGN_OR_RETURN(SqliteStatement tables,
                      database_->Prepare("SELECT count(*) FROM sqlite_schema"));
  FM_ASSIGN_OR_RETURN(const bool row, tables.Step());
  return row && tables.Number(0) > 0;
}

absl::Status FolderJournal::Create() {
  const auto id = static_cast<int64_t>(DrawJournal());
  FM_RETURN_IF_ERROR(database_->Run(fmt::format(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE about (format INTEGER NOT NULL, journal INTEGER NOT NULL);"
      "CREATE TABLE events (sequence INTEGER PRIMARY KEY,"
      " payload BLOB NOT NULL, chain BLOB NOT NULL);"
      "CREATE TABLE snapshot (sequence INTEGER PRIMARY KEY,"
      " payload BLOB NOT NULL, chain BLOB NOT NULL, checksum BLOB NOT NULL);"
      "INSERT INTO about VALUES ({}, {}); COMMIT;",
      kJournalFormat, id)));
  return SyncPath(folder_);
}

absl::Status FolderJournal::Load() {
  FM_ASSIGN_OR_RETURN(SqliteStatement about,
                      database_->Prepare("SELECT format, journal FROM about"));
  FM_ASSIGN_OR_RETURN(const bool row, about.Step());
  if (!row) return DataLoss("journal.db does not name its journal");
  if (about.Number(0) != kJournalFormat) {
    return FailedPrecondition(
        "it has format {}, this release knows {}; use the release that wrote "
        "it",
        about.Number(0), kJournalFormat);
  }
  id_ = about.Number(1);
  chain_ = ChainOf(id_);
  FM_RETURN_IF_ERROR(LoadSnapshot());
  return LoadEvents();
}

absl::Status FolderJournal::LoadSnapshot() {
  FM_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_->Prepare(
          "SELECT sequence, payload, chain, checksum FROM snapshot"));
  FM_ASSIGN_OR_RETURN(const bool there, row.Step());
  if (!there) return absl::OkStatus();
  std::string payload = row.Blob(1);
  const std::string chain = row.Blob(2);
  const uint64_t sequence = row.Number(0);
  const ChainChecksum checksum =
      Extend(Extend(ChainOf(id_ ^ sequence), chain), payload);
  if (chain.size() != sizeof(chain_) || row.Blob(3) != BytesOf(checksum)) {
    return DataLoss(
        "the snapshot of the first {} events does not match its checksum",
        sequence);
  }
  std::memcpy(chain_.data(), chain.data(), sizeof(chain_));
  sequence_ = content_.snapshot_sequence = sequence;
  snapshot_bytes_ = payload.size();
  content_.snapshot = std::move(payload);
  return absl::OkStatus();
}

absl::Status FolderJournal::LoadEvents() {
  FM_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_->Prepare(
          "SELECT sequence, payload, chain FROM events ORDER BY sequence"));
  while (true) {
    FM_ASSIGN_OR_RETURN(const bool there, row.Step());
    if (!there) return absl::OkStatus();
    if (row.Number(0) != sequence_ + 1) {
      return DataLoss("event {} is missing: {} comes after {}", sequence_ + 1,
                      row.Number(0), sequence_);
    }
    std::string payload = row.Blob(1);
    chain_ = Extend(chain_, payload);
    ++sequence_;
    if (row.Blob(2) != BytesOf(chain_)) {
      return DataLoss("event {} does not have its checksum", sequence_);
    }
    event_bytes_ += payload.size() + kRowBytes;
    content_.events.push_back(std::move(payload));
  }
}

absl::Status FolderJournal::Tick() {
  const absl::Time now = SteadyNow();
  if (now - looked_at_ >= kBetweenStandbyLooks) {
    looked_at_ = now;
    standbys_ =
        std::make_shared<const std::vector<Standby>>(StandbysOf(folder_));
  }
  return failure_;
}

// After a power failure the seal may be behind the journal, never ahead.
absl::Status FolderJournal::CompareWithSeal() {
  const std::optional<JournalSeal::Mark>& sealed = seal_->mark();
  if (!sealed) {
    // A crash between creating the two files; no event was acknowledged.
    if (sequence_ == 0) return seal_->Create(mark());
    return DataLoss(
        "journal.seal is gone, so it is unknown whether {} events "
        "are all",
        sequence_);
  }
  if (sealed->journal != id_) {
    return DataLoss("journal.db and journal.seal are of different journals");
  }
  if (sealed->sequence > sequence_) {
    return DataLoss(
        "it ends at event {}, and events {} to {} are missing (was it cut, or "
        "an older copy put back?)",
        sequence_, sequence_ + 1, sealed->sequence);
  }
  if (sealed->sequence == sequence_ && sealed->chain != chain_) {
    return DataLoss("its {} events differ from the events that were written",
                    sequence_);
  }
  return absl::OkStatus();
}

absl::Status FolderJournal::PrepareWriting() {
  FM_RETURN_IF_ERROR(database_->EmptyLogAtClose(true));
  // Events that were written but not synced before a crash are part of the
  // content now, so they are synced before use.
  const std::string log = folder_ + "/journal.db-wal";
  std::error_code absent;
  if (std::filesystem::exists(log, absent)) {
    FM_RETURN_IF_ERROR(SyncPath(log));
  }
  FM_ASSIGN_OR_RETURN(
      SqliteStatement insert,
      database_->Prepare("INSERT INTO events VALUES (?1, ?2, ?3)"));
  insert_.emplace(std::move(insert));
  return absl::OkStatus();
}

absl::Status FolderJournal::Append(std::span<const std::string> events) {
  if (events.empty()) return failure_;
  FM_RETURN_IF_ERROR(failure_);
  failure_ = AppendAll(events);
  if (!failure_.ok()) {
    failure_ = Annotate(
        failure_, fmt::format("cannot write the journal in '{}'", folder_));
    // the transaction may have ended already
    database_->Run("ROLLBACK").IgnoreError();
  }
  return failure_;
}

absl::Status FolderJournal::AppendAll(std::span<const std::string> events) {
  uint64_t sequence = sequence_;
  ChainChecksum chain = chain_;
  uint64_t bytes = 0;
  FM_RETURN_IF_ERROR(database_->Run("BEGIN IMMEDIATE"));
  for (const std::string& event : events) {
    chain = Extend(chain, event);
    insert_->Bind(1, ++sequence);
    insert_->Bind(2, event);
    insert_->Bind(3, BytesOf(chain));
    FM_RETURN_IF_ERROR(insert_->Run());
    bytes += event.size() + kRowBytes;
  }
  FM_RETURN_IF_ERROR(database_->Run("COMMIT"));
  sequence_ = sequence;
  chain_ = chain;
  event_bytes_ += bytes;
  return seal_->Write(mark());
}

absl::Status FolderJournal::BeginAs(uint64_t id) {
  id_ = id;
  chain_ = ChainOf(id);
  return database_->Run(
      fmt::format("UPDATE about SET journal = {}", static_cast<int64_t>(id)));
}

absl::Status FolderJournal::Compact(std::string_view snapshot) {
  FM_RETURN_IF_ERROR(failure_);
  failure_ = WriteSnapshot(snapshot);
  if (!failure_.ok()) {
    failure_ = Annotate(
        failure_, fmt::format("cannot compact the journal in '{}'", folder_));
    database_->Run("ROLLBACK").IgnoreError();
  }
  return failure_;
}

absl::Status FolderJournal::WriteSnapshot(std::string_view snapshot) {
  FM_RETURN_IF_ERROR(database_->Run(
      "BEGIN IMMEDIATE; DELETE FROM events; DELETE FROM snapshot;"));
  FM_ASSIGN_OR_RETURN(
      SqliteStatement insert,
      database_->Prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4)"));
  const ChainChecksum checksum =
      Extend(Extend(ChainOf(id_ ^ sequence_), BytesOf(chain_)), snapshot);
  insert.Bind(1, sequence_);
  insert.Bind(2, snapshot);
  insert.Bind(3, BytesOf(chain_));
  insert.Bind(4, BytesOf(checksum));
  FM_RETURN_IF_ERROR(insert.Run());
  // Truncates the log file too.
  FM_RETURN_IF_ERROR(
      database_->Run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);"));
  snapshot_bytes_ = snapshot.size();
  event_bytes_ = 0;
  return seal_->Write(mark());
}

}  // namespace feedmill
