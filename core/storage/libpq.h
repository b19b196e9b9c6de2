#ifndef FEEDMILL_CORE_STORAGE_LIBPQ_H_
#define FEEDMILL_CORE_STORAGE_LIBPQ_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// A connection to PostgreSQL by libpq.so.5, which is loaded when it is used
// first: nothing else of feedmill needs it. The URL may name several hosts; the
// host that takes writes is used.
//
// A lost connection is made again. Thread-compatible.
class PostgresConnection {
 public:
  // A row: texts as PostgreSQL writes them; nullopt for NULL.
  using Row = std::vector<std::optional<std::string>>;
  struct Result {
    std::vector<Row> rows;
    uint64_t affected = 0;  // rows
  };

  // `patience`: errors that may pass are retried for this time.
  // FailedPrecondition: there is no libpq; it says how to install it.
  // InvalidArgument: the server refuses the URL.
  static absl::StatusOr<std::unique_ptr<PostgresConnection>> Open(
      const std::string& url, absl::Duration patience);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Runs one statement, which is its own transaction. Aborted: the connection
  // was lost, or the server did not answer within `patience`, so that it is
  // unknown whether the statement was executed.
  // Unavailable: other errors of the server that may pass. InvalidArgument: the
  // server refuses the statement.
  absl::StatusOr<Result> Run(const std::string& statement,
                             const std::vector<std::string>& parameters = {});

  // Returns the literal of an array of bytes, for a parameter ::bytea[].
  static std::string ArrayOf(const std::vector<std::string_view>& items);
  // Returns the bytes of a bytea; nullopt if the text is none.
  static std::optional<std::string> BytesOf(std::string_view text);
  static std::string TextOf(std::string_view bytes);

 private:
  struct Library;
  using OwnedResult = std::unique_ptr<void, void (*)(void*)>;
  PostgresConnection(const Library& library, std::string url,
                     absl::Duration patience)
      : library_(library), url_(std::move(url)), patience_(patience) {}
  static absl::StatusOr<const Library*> Load();
  absl::Status Connect();
  OwnedResult Execute(const std::string& statement,
                      const std::vector<const char*>& values);
  bool AwaitResult(absl::Time deadline);

  const Library& library_;
  const std::string url_;
  const absl::Duration patience_;
  void* connection_ = nullptr;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_LIBPQ_H_
