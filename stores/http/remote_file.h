#ifndef FEEDMILL_STORES_HTTP_REMOTE_FILE_H_
#define FEEDMILL_STORES_HTTP_REMOTE_FILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "stores/http/response_head.h"

namespace feedmill {

// A request for a file, or to change one, without its range and condition.
struct StoreRequest {
  std::string url;
  std::vector<std::string> headers{};  // "Name: value"
  // If not empty, the request is signed with the key by AWS Signature Version
  // 4: "aws:amz:REGION:s3".
  std::string signature{};
  std::string access_key{};
  std::string secret_key{};
  // False: neither a login of the URL or ~/.netrc is sent nor redirects are
  // followed, because a store has its own errors for them.
  bool is_web = true;
  std::string method = "GET";                 // or PUT, POST, DELETE
  std::shared_ptr<const std::string> body{};  // of PUT and POST; else null
};

// Makes the requests for a file of an HTTP store. Any thread.
class RequestMaker {
 public:
  virtual ~RequestMaker() = default;

  // Gets keys and region if they are missing or old. May wait for the network;
  // readers call it before they start requests.
  virtual absl::Status Prepare() const = 0;
  // Returns the request of the next attempt. Does not wait.
  virtual StoreRequest Make() const = 0;
  // Returns the error of an answer that is no success. Unavailable if a repeat
  // may have another answer; its text is the reason. `body`: its first bytes.
  virtual absl::Status Refusal(const ResponseHead& head,
                               std::string_view body) const = 0;
};

// A file that is read over HTTP.
struct RemoteFile {
  // A file of a web server: its name is the URL.
  RemoteFile(std::string url) : name(std::move(url)) {}  // NOLINT
  RemoteFile(const char* url) : name(url) {}             // NOLINT
  RemoteFile(std::string own_name, std::shared_ptr<const RequestMaker> own)
      : name(std::move(own_name)), maker(std::move(own)) {}

  absl::Status Prepare() const {
    return maker == nullptr ? absl::OkStatus() : maker->Prepare();
  }
  StoreRequest Make() const {
    if (maker != nullptr) return maker->Make();
    return {name, {"Accept-Encoding: identity"}};
  }

  std::string name;                             // used in errors
  std::shared_ptr<const RequestMaker> maker{};  // null: a web server
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_REMOTE_FILE_H_
