#include "core/storage/sqlite_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/status.h"
#include "core/process/write_error.h"
#include "core/storage/folder_lock.h"

namespace feedmill {

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::Bind(int index, uint64_t value) {
  const int code =
      sqlite3_bind_int64(statement_.get(), index, static_cast<int64_t>(value));
  if (bound_ == SQLITE_OK) bound_ = code;
}

void SqliteStatement::Bind(int index, std::string_view blob) {
  // A null pointer would bind NULL instead of the empty blob.
  const int code = sqlite3_bind_blob64(
      statement_.get(), index, blob.data() == nullptr ? "" : blob.data(),
      blob.size(), SQLITE_STATIC);
  if (bound_ == SQLITE_OK) bound_ = code;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (bound_ != SQLITE_OK) return database_->Error(bound_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error(code);
}

absl::Status SqliteStatement::Run() {
  const absl::Status status = Step().status();
  Reset();
  return status;
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bound_ = SQLITE_OK;
}

uint64_t SqliteStatement::Number(int column) const {
  return static_cast<uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string SqliteStatement::Blob(int column) const {
  const auto* data =
      static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? "" : std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path) {
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path));
  // SQLite gives a new log the mode of the database.
  for (const int file :
       {OpenPrivate(path, O_CREAT), OpenPrivate(path + "-wal", 0)}) {
    if (file >= 0) close(file);
  }
  const int code = sqlite3_open_v2(
      path.c_str(), &database->connection_,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  if (code != SQLITE_OK) return database->Error(code);
  FM_RETURN_IF_ERROR(database->EmptyLogAtClose(false));
  // An exclusive write-ahead log needs no shared-memory file.
  FM_RETURN_IF_ERROR(database->Run(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cell_size_check=ON;"
      "PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=4194304;"));
  FM_ASSIGN_OR_RETURN(SqliteStatement mode,
                      database->Prepare("PRAGMA journal_mode=WAL"));
  FM_ASSIGN_OR_RETURN(const bool said, mode.Step());
  const bool logs = said && mode.Blob(0) == "wal";
  mode.Reset();
  if (!logs) {
    return Unavailable(
        "'{}' cannot have a write-ahead log here; is this a local disk?", path);
  }
  FM_RETURN_IF_ERROR(database->Run("PRAGMA synchronous=FULL;"));
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(connection_); }

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(
    std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return SqliteStatement(*this, statement);
}

absl::Status SqliteDatabase::Run(const std::string& sql) const {
  const int code =
      sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status SqliteDatabase::EmptyLogAtClose(bool empty) const {
  const int code = sqlite3_db_config(
      connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, empty ? 0 : 1, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status SqliteDatabase::Error(int code) const {
  std::string text =
      fmt::format("'{}': {}", path_,
                  connection_ == nullptr ? sqlite3_errstr(code)
                                         : sqlite3_errmsg(connection_));
  // Adds the cause to "disk I/O error".
  if (connection_ != nullptr && (code & 0xff) == SQLITE_IOERR) {
    if (const int error = sqlite3_system_errno(connection_); error != 0) {
      text += fmt::format(": {}", WriteErrorText(error));
    } else if (!MayWriteFile(UINT64_MAX)) {
      text += fmt::format("; perhaps {}", WriteErrorText(EFBIG));
    }
  }
  switch (code & 0xff) {
    // The statements are correct, so a generic error means a wrong schema.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return DataLoss("{}", text);
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
      return ResourceExhausted("{}", text);
    default:
      return Unavailable("{}", text);
  }
}

}  // namespace feedmill
