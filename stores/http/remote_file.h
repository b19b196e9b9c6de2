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

// One request for a file, without its range and condition.
struct StoreRequest {
  std::string url;
  std::vector<std::string> headers{};  // "Name: value"
  // If not empty, the request is signed by AWS Signature Version 4 with the
  // key: "aws:amz:REGION:s3".
  std::string signature{};
  std::string access_key{};
  std::string secret_key{};
  // False: the login of a URL or of ~/.netrc is not sent, and redirects are not
  // followed. A store has its own errors for them.
  bool is_web = true;
};

// Makes the requests for one file of a store that speaks HTTP. Any thread.
class RequestMaker {
 public:
  virtual ~RequestMaker() = default;

  // Gets what requests need (keys, a region), if the store has none or old
  // ones. May wait for a network; readers call it before they begin requests.
  virtual absl::Status Prepare() const = 0;
  // Returns the request of the next attempt. Does not wait.
  virtual StoreRequest Make() const = 0;
  // Returns the error of an answer that repeating does not change. `body`: its
  // first bytes.
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

  std::string name;                             // errors name it
  std::shared_ptr<const RequestMaker> maker{};  // null: a web server's
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_REMOTE_FILE_H_
