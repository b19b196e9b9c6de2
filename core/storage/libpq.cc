#include "core/storage/libpq.h"

#include <poll.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/plugins/system_library.h"

namespace feedmill {
namespace {

// Numbers of libpq-fe.h, which are part of libpq.so.5.
constexpr int kConnectionOk = 0;
constexpr int kCommandOk = 1;
constexpr int kTuplesOk = 2;
constexpr int kSqlState = 'C';  // PG_DIAG_SQLSTATE

constexpr absl::Duration kPause = absl::Milliseconds(200);

std::string Trimmed(const char* message) {
  std::string text = message == nullptr ? "" : message;
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string HexOf(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

// True for errors of the server that pass: it starts, stops, is another
// server's copy, or had a conflict.
bool MayPass(std::string_view state) {
  return state.starts_with("08") || state.starts_with("40") ||
         state.starts_with("53") || state.starts_with("57") || state == "25006";
}

}  // namespace

struct PostgresConnection::Library {
  void* (*connect)(const char* url);
  int (*status)(const void* connection);
  char* (*error)(const void* connection);
  void (*finish)(void* connection);
  int (*set_nonblocking)(void* connection, int nonblocking);
  int (*send)(void* connection, const char* statement, int count,
              const unsigned* types, const char* const* values,
              const int* lengths, const int* formats, int result_format);
  int (*flush)(void* connection);
  int (*socket)(const void* connection);
  int (*consume)(void* connection);
  int (*is_busy)(void* connection);
  void* (*result)(void* connection);
  int (*result_status)(const void* result);
  char* (*result_error)(const void* result);
  char* (*result_field)(const void* result, int field);
  int (*rows)(const void* result);
  int (*columns)(const void* result);
  char* (*value)(const void* result, int row, int column);
  int (*is_null)(const void* result, int row, int column);
  char* (*affected)(void* result);
  void (*clear)(void* result);
};

absl::StatusOr<const PostgresConnection::Library*> PostgresConnection::Load() {
  static Library library;
  static const absl::Status loaded = [] {
    const SystemLibrary found{"libpq.so.5"};
    if (!found.loaded()) {
      return FailedPrecondition(
          "state in PostgreSQL needs the library libpq.so.5, of Debian's "
          "package libpq5: {}",
          found.error());
    }
    const bool whole =
        found.Find("PQconnectdb", library.connect) &&
        found.Find("PQstatus", library.status) &&
        found.Find("PQerrorMessage", library.error) &&
        found.Find("PQfinish", library.finish) &&
        found.Find("PQsetnonblocking", library.set_nonblocking) &&
        found.Find("PQsendQueryParams", library.send) &&
        found.Find("PQflush", library.flush) &&
        found.Find("PQsocket", library.socket) &&
        found.Find("PQconsumeInput", library.consume) &&
        found.Find("PQisBusy", library.is_busy) &&
        found.Find("PQgetResult", library.result) &&
        found.Find("PQresultStatus", library.result_status) &&
        found.Find("PQresultErrorMessage", library.result_error) &&
        found.Find("PQresultErrorField", library.result_field) &&
        found.Find("PQntuples", library.rows) &&
        found.Find("PQnfields", library.columns) &&
        found.Find("PQgetvalue", library.value) &&
        found.Find("PQgetisnull", library.is_null) &&
        found.Find("PQcmdTuples", library.affected) &&
        found.Find("PQclear", library.clear);
    return whole ? absl::OkStatus()
                 : FailedPrecondition("libpq.so.5 lacks functions of libpq 9");
  }();
  FM_RETURN_IF_ERROR(loaded);
  return &library;
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(
    const std::string& url, absl::Duration patience) {
  FM_ASSIGN_OR_RETURN(const Library* const library, Load());
  std::unique_ptr<PostgresConnection> made(
      new PostgresConnection(*library, url, patience));
  FM_RETURN_IF_ERROR(made->Run("SELECT 1").status());
  return made;
}

PostgresConnection::~PostgresConnection() {
  if (connection_ != nullptr) library_.finish(connection_);
}

absl::Status PostgresConnection::Connect() {
  if (connection_ != nullptr && library_.status(connection_) == kConnectionOk) {
    return absl::OkStatus();
  }
  const absl::Time begun = absl::Now();
  while (true) {
    if (connection_ != nullptr) library_.finish(connection_);
    connection_ = library_.connect(url_.c_str());
    if (library_.status(connection_) == kConnectionOk) {
      library_.set_nonblocking(connection_, 1);
      return absl::OkStatus();
    }
    const std::string why = Trimmed(library_.error(connection_));
    // libpq has no code for this error.
    const bool wrong = why.find("invalid ") != why.npos ||
                       why.find("password authentication failed") != why.npos ||
                       why.find("does not exist") != why.npos;
    if (wrong) {
      return InvalidArgument("PostgreSQL at {}: {}", HideUrlSecrets(url_), why);
    }
    if (absl::Now() - begun > patience_) {
      return Unavailable("PostgreSQL at {}: {}", HideUrlSecrets(url_), why);
    }
    absl::SleepFor(kPause);
  }
}

// Waits until all was sent and the next result is there. False: the connection
// was lost, or the server does not answer.
bool PostgresConnection::AwaitResult(absl::Time deadline) {
  while (true) {
    const int unsent = library_.flush(connection_);
    if (unsent < 0) return false;
    if (unsent == 0 && library_.is_busy(connection_) == 0) return true;
    pollfd wait{library_.socket(connection_), POLLIN, 0};
    if (unsent > 0) wait.events |= POLLOUT;
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    const int ready = poll(&wait, 1,
                           static_cast<int>(absl::ToInt64Milliseconds(
                               absl::Ceil(left, absl::Milliseconds(1)))));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && library_.consume(connection_) == 0) return false;
  }
}

// Returns null if the connection was lost.
PostgresConnection::OwnedResult PostgresConnection::Execute(
    const std::string& statement, const std::vector<const char*>& values) {
  OwnedResult result(nullptr, library_.clear);
  const absl::Time deadline = absl::Now() + patience_;
  if (library_.send(connection_, statement.c_str(),
                    static_cast<int>(values.size()), nullptr, values.data(),
                    nullptr, nullptr, 0) == 0) {
    return result;
  }
  // Null ends the results.
  while (AwaitResult(deadline)) {
    OwnedResult next(library_.result(connection_), library_.clear);
    if (next == nullptr) return result;
    result = std::move(next);
  }
  result.reset();
  return result;
}

absl::StatusOr<PostgresConnection::Result> PostgresConnection::Run(
    const std::string& statement, const std::vector<std::string>& parameters) {
  const absl::Time begun = absl::Now();
  while (true) {
    FM_RETURN_IF_ERROR(Connect());
    std::vector<const char*> values;
    for (const std::string& one : parameters) values.push_back(one.c_str());
    const OwnedResult result = Execute(statement, values);
    if (result == nullptr) {
      const std::string why = Trimmed(library_.error(connection_));
      library_.finish(std::exchange(connection_, nullptr));
      return absl::AbortedError(
          fmt::format("the connection to PostgreSQL was lost: {}",
                      why.empty() ? "it does not answer" : why));
    }
    const int status = library_.result_status(result.get());
    if (status == kCommandOk || status == kTuplesOk) {
      Result out;
      const int columns = library_.columns(result.get());
      for (int r = 0; r < library_.rows(result.get()); ++r) {
        Row& row = out.rows.emplace_back();
        for (int c = 0; c < columns; ++c) {
          const bool null = library_.is_null(result.get(), r, c) != 0;
          row.push_back(null ? std::nullopt
                             : std::optional<std::string>(
                                   library_.value(result.get(), r, c)));
        }
      }
      const std::string_view affected = library_.affected(result.get());
      std::from_chars(affected.data(), affected.data() + affected.size(),
                      out.affected);
      return out;
    }
    const char* const code = library_.result_field(result.get(), kSqlState);
    const std::string state = code == nullptr ? "" : code;
    const std::string why = Trimmed(library_.result_error(result.get()));
    if (library_.status(connection_) != kConnectionOk || state.empty()) {
      return absl::AbortedError(fmt::format(
          "the connection to PostgreSQL was lost: {}",
          why.empty() ? Trimmed(library_.error(connection_)) : why));
    }
    if (!MayPass(state)) {
      return InvalidArgument("PostgreSQL refuses a statement: {}", why);
    }
    if (absl::Now() - begun > patience_) {
      return Unavailable("PostgreSQL: {}", why);
    }
    // A server that became a copy of another one takes no writes any more.
    library_.finish(std::exchange(connection_, nullptr));
    absl::SleepFor(kPause);
  }
}

std::string PostgresConnection::TextOf(std::string_view bytes) {
  return "\\x" + HexOf(bytes);
}

std::string PostgresConnection::ArrayOf(
    const std::vector<std::string_view>& items) {
  std::string text = "{";
  for (const std::string_view item : items) {
    if (text.size() > 1) text += ',';
    text += "\"\\\\x" + HexOf(item) + '"';
  }
  return text + "}";
}

std::optional<std::string> PostgresConnection::BytesOf(std::string_view text) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return std::nullopt;
  return absl::HexStringToBytes(
      absl::string_view(text.data() + 2, text.size() - 2));
}

}  // namespace feedmill
