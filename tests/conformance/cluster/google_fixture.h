#ifndef FEEDMILL_TESTS_CONFORMANCE_CLUSTER_GOOGLE_FIXTURE_H_
#define FEEDMILL_TESTS_CONFORMANCE_CLUSTER_GOOGLE_FIXTURE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cloud/cloud_context.h"
#include "cloud/http_client.h"
#include "tests/conformance/cluster/cloud_registry.h"
#include "tests/conformance/cluster/local_http_server.h"
#include "tests/conformance/cluster/resolver_fixture.h"

namespace feedmill {

// A machine on Google Cloud (project test-project, zone us-central1-c), with
// its metadata server and an API at the same address. Each test sets the data
// of both.
class GoogleFixture : public ::testing::Test {
 protected:
  GoogleFixture()
      : server_([this](const ServedRequest& r) { return Answer(r); }) {
    variables_ = {{"GCE_METADATA_HOST", server_.host()}};
    metadata_ = {{"project/project-id", "test-project"},
                 {"instance/zone", "projects/1/zones/us-central1-c"},
                 {"instance/name", "elsewhere"}};
  }

  virtual ServedAnswer AnswerApi(const ServedRequest& request) = 0;

  CloudContext Context() const { return {Machine(variables_), OpenHttp}; }

  // Resolves a URI with the local server as endpoint; returns the cluster's
  // text or the error.
  std::string Shown(std::string uri) const {
    uri += uri.find('?') == std::string::npos ? "?" : "&";
    uri += "endpoint=" + server_.url();
    const auto made = CloudResolvers(OpenHttp).Make(uri, Machine(variables_));
    if (!made.ok()) return ErrorText(made.status());
    const auto view = (*made)->Resolve();
    return view.ok() ? view->spec.ToString() : ErrorText(view.status());
  }

  static ServedAnswer Error(int status, const std::string& message) {
    return {status,
            nlohmann::json{{"error", {{"code", status}, {"message", message}}}}
                .dump()};
  }

  Variables variables_;
  std::map<std::string, std::string> metadata_;  // by path
  int tokens_ = 0;       // issued so far: token1, token2, …
  int valid_token_ = 0;  // the token that the API accepts; 0: the last
  std::function<std::optional<ServedAnswer>(const ServedRequest&)> override_;
  LocalHttpServer server_;

 private:
  ServedAnswer Answer(const ServedRequest& request) {
    if (override_) {
      if (auto answer = override_(request)) return *answer;
    }
    const std::string prefix = "/computeMetadata/v1/";
    if (request.path.starts_with(prefix)) {
      return AnswerMetadata(request, request.path.substr(prefix.size()));
    }
    const auto authorization = request.headers.find("authorization");
    const int valid = valid_token_ == 0 ? tokens_ : valid_token_;
    if (authorization == request.headers.end() ||
        authorization->second != fmt::format("Bearer token{}", valid)) {
      return Error(401, "Request had invalid authentication credentials.");
    }
    return AnswerApi(request);
  }

  ServedAnswer AnswerMetadata(const ServedRequest& request,
                              const std::string& path) {
    const auto flavor = request.headers.find("metadata-flavor");
    if (flavor == request.headers.end() || flavor->second != "Google") {
      return {403, "Missing Metadata-Flavor:Google header."};
    }
    ServedAnswer answer{404, "", {{"Metadata-Flavor", "Google"}}};
    if (path == "instance/service-accounts/default/token") {
      answer.status = 200;
      answer.body = nlohmann::json{
          {"access_token", fmt::format("token{}", ++tokens_)},
          {"expires_in", 3599},
          {"token_type",
           "Bearer"}}.dump();
    } else if (metadata_.contains(path)) {
      answer.status = 200;
      answer.body = metadata_.at(path);
    }
    return answer;
  }
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_CONFORMANCE_CLUSTER_GOOGLE_FIXTURE_H_
