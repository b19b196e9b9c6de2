#ifndef FEEDMILL_MONITORING_OPERATOR_GATE_H_
#define FEEDMILL_MONITORING_OPERATOR_GATE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "monitoring/http_server.h"

namespace feedmill {

// Decides which HTTP requests may change something. Such a request must carry
// the operator's token, and no page of another origin can have sent it.
class OperatorGate {
 public:
  OperatorGate() = default;  // refuses all
  // The token is one line of 16 to 1,024 printable characters, in a file that
  // only its owner may read. NotFound or InvalidArgument name the file. The
  // file is read again for each request: a token that replaces another one
  // counts at once. While the file is missing or wrong, all are refused.
  static absl::StatusOr<OperatorGate> FromFile(const std::string& path);

  bool has_token() const { return !path_.empty(); }
  // Nullopt if the request may change something, else the answer that refuses
  // it.
  std::optional<HttpReply> Refuse(const ServedRequest& request) const;

 private:
  std::string path_;  // "": no token
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_OPERATOR_GATE_H_
