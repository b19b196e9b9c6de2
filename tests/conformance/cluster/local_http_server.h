#ifndef FEEDMILL_TESTS_CONFORMANCE_CLUSTER_LOCAL_HTTP_SERVER_H_
#define FEEDMILL_TESTS_CONFORMANCE_CLUSTER_LOCAL_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace feedmill {

// A request as received.
struct ServedRequest {
  std::string method;
  std::string path;                            // without the query
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct ServedAnswer {
  int status = 200;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
  bool never = false;  // keep the connection open without an answer
};

// An HTTP server at a free port of 127.0.0.1, until it is destroyed. Handles
// one request at a time; the function returns its answer.
class LocalHttpServer {
 public:
  using Answer = std::function<ServedAnswer(const ServedRequest&)>;

  explicit LocalHttpServer(Answer answer);
  ~LocalHttpServer();
  LocalHttpServer(const LocalHttpServer&) = delete;
  LocalHttpServer& operator=(const LocalHttpServer&) = delete;

  std::string host() const;  // "127.0.0.1:40123"
  std::string url() const { return "http://" + host(); }
  // The requests received so far: "GET /path?query".
  std::vector<std::string> log() const;

 private:
  void Serve();
  void ServeOne(int connection);

  const Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<int> silent_;  // connections that are never answered
  mutable std::mutex mu_;
  std::vector<std::string> log_;  // guarded by mu_
  std::thread thread_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_CONFORMANCE_CLUSTER_LOCAL_HTTP_SERVER_H_
