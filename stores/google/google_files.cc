#include "stores/google/google_files.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/io/cloud_url.h"
#include "core/io/forwarding_files.h"
#include "core/io/url_options.h"
#include "stores/http/transfer.h"

namespace feedmill {
namespace {

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNoBucket = 404;
constexpr int kExists = 412;

// A put of an object.
class GooglePut final : public RequestMaker {
 public:
  GooglePut(std::string name, std::string url, std::string token,
            std::string_view bytes)
      : name_(std::move(name)),
        url_(std::move(url)),
        token_(std::move(token)),
        body_(std::make_shared<const std::string>(bytes)) {}

  absl::Status Prepare() const override { return absl::OkStatus(); }
  StoreRequest Make() const override {
    StoreRequest request{.url = url_, .is_web = false, .method = "POST"};
    request.headers = {"Content-Type: application/octet-stream"};
    if (!token_.empty()) {
      request.headers.push_back("Authorization: Bearer " + token_);
    }
    request.body = body_;
    return request;
  }
  absl::Status Refusal(const ResponseHead& head,
                       std::string_view /*body*/) const override {
    const int status = head.status();
    if (status == kNoBucket) {
      return NotFound("{}: there is no such bucket ({})", name_, status);
    }
    if (status == kUnauthorized || status == kForbidden) {
      return FailedPrecondition(
          "{}: refused ({}): this login may not write it; allow "
          "storage.objects.create and storage.objects.delete",
          name_, status);
    }
    return FailedPrecondition(
        "{}: the store answers {} instead of storing the object; check the URL "
        "and the endpoint",
        name_, status);
  }

 private:
  const std::string name_;
  const std::string url_;
  const std::string token_;  // "": none is sent
  const std::shared_ptr<const std::string> body_;
};

class GoogleFiles final : public ForwardingFiles {
 public:
  GoogleFiles(std::shared_ptr<HttpStore> store, Environment environment,
              std::shared_ptr<GoogleTokenSource> tokens,
              std::shared_ptr<const FileSystem> files)
      : store_(std::move(store)),
        environment_(std::move(environment)),
        tokens_(std::move(tokens)),
        files_(std::move(files)) {}

  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override {
    const auto made = Put(name, bytes, /*only_new=*/false);
    return absl::IsUnimplemented(made.status())
               ? ForwardingFiles::Write(name, bytes)
               : made.status();
  }
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override {
    auto made = Put(name, bytes, /*only_new=*/true);
    return absl::IsUnimplemented(made.status())
               ? ForwardingFiles::WriteNew(name, bytes)
               : made;
  }

 private:
  struct Server {
    std::string endpoint;
    bool needs_token = false;
  };

  // Unimplemented: the environment's login is of a kind that only Arrow's
  // client knows.
  absl::StatusOr<bool> Put(const std::string& name, std::string_view bytes,
                           bool only_new) const {
    FM_ASSIGN_OR_RETURN(CloudUrl url, ParseCloudUrl("gs", name));
    if (url.options.empty()) url.key = NameWithoutEscape(std::move(url.key));
    if (url.key.empty() || url.key.ends_with('/')) {
      return NotFound("{}: it names a folder, which is no file", name);
    }
    FM_ASSIGN_OR_RETURN(const Server server, ServerOf(url.access));
    const std::string target = fmt::format(
        "{}/upload/storage/v1/b/{}/o?uploadType=media{}&name={}",
        server.endpoint, PercentEncoded(url.bucket),
        only_new ? "&ifGenerationMatch=0" : "", PercentEncoded(url.key));
    for (bool again = false;; again = true) {
      std::string token;
      if (server.needs_token) {
        auto given = tokens_->Token();
        if (!given.ok()) return Annotate(given.status(), name);
        token = *std::move(given);
      }
      const auto transfer = Transfer::Whole(
          {name, std::make_shared<GooglePut>(name, target, token, bytes)},
          std::nullopt, store_->options);
      const absl::Status status = store_->Run(transfer);
      if (status.ok()) return true;
      const int code = transfer->head().status();
      if (absl::IsCancelled(status) || absl::IsUnavailable(status)) {
        return status;
      }
      if (only_new && code == kExists) return false;
      // The token may have ended early.
      if (code != kUnauthorized || again || !tokens_->Renew()) return status;
    }
  }

  absl::StatusOr<const FileSystem*> Target(
      const std::string& /*name*/) const override {
    return files_.get();
  }

  // A server of tests gets no token, as in Arrow's client.
  absl::StatusOr<Server> ServerOf(const CloudAccess& access) const {
    std::string endpoint = access.endpoint;
    if (endpoint.empty()) {
      endpoint = environment_.Get("STORAGE_EMULATOR_HOST").value_or("");
    }
    if (!endpoint.empty()) {
      FM_ASSIGN_OR_RETURN(
          endpoint, ParseEndpoint(endpoint, "http", "STORAGE_EMULATOR_HOST"));
      return Server{endpoint};
    }
    const bool anonymous = access.anonymous.value_or(
        ParseFlag(environment_.Get("GS_NO_SIGN_REQUEST").value_or(""))
            .value_or(false));
    return Server{"https://storage.googleapis.com", !anonymous};
  }

  const std::shared_ptr<HttpStore> store_;
  const Environment environment_;
  const std::shared_ptr<GoogleTokenSource> tokens_;
  const std::shared_ptr<const FileSystem> files_;
};

}  // namespace

std::shared_ptr<const FileSystem> MakeGoogleFiles(
    std::shared_ptr<HttpStore> store, Environment environment,
    std::shared_ptr<GoogleTokenSource> tokens,
    std::shared_ptr<const FileSystem> files) {
  return std::make_shared<const GoogleFiles>(
      std::move(store), std::move(environment), std::move(tokens),
      std::move(files));
}

}  // namespace feedmill
