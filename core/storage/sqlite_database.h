#ifndef FEEDMILL_CORE_STORAGE_SQLITE_DATABASE_H_
#define FEEDMILL_CORE_STORAGE_SQLITE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace feedmill {

class SqliteDatabase;

// A prepared statement. Blobs are bound without a copy and must live until the
// next Reset. A failed Bind is reported by the next Step. Thread-compatible;
// must not outlive its database.
class SqliteStatement {
 public:
  void Bind(int index, uint64_t value);
  void Bind(int index, std::string_view blob);
  // Returns true if there is a row.
  absl::StatusOr<bool> Step();
  // Executes a statement without rows: steps and resets.
  absl::Status Run();
  void Reset();

  // Columns of the present row. Numbers are returned as their 64 bits.
  uint64_t Number(int column) const;
  std::string Blob(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  const SqliteDatabase* database_;
  int bound_ = 0;  // the first error since Reset
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A connection to an SQLite file, exclusive to this process, with a write-ahead
// log that is synced at each commit. Errors: DataLoss for a damaged file,
// ResourceExhausted for a full disk or a value that is too large, else
// Unavailable.
//
// Thread-compatible.
class SqliteDatabase {
 public:
  // Creates the file if it does not exist.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql) const;
  absl::Status Run(const std::string& sql) const;
  // If true, the destructor moves the log into the main file. Default: false,
  // so that a damaged file stays as it was found.
  absl::Status EmptyLogAtClose(bool empty) const;

 private:
  friend class SqliteStatement;
  explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}
  absl::Status Error(int code) const;

  std::string path_;
  sqlite3* connection_ = nullptr;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_SQLITE_DATABASE_H_
