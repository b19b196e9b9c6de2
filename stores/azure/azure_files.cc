#include "stores/azure/azure_files.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/io/azure_access.h"
#include "core/io/cloud_url.h"
#include "core/io/forwarding_files.h"
#include "core/io/url_options.h"
#include "stores/azure/azure_request.h"
#include "stores/http/transfer.h"

namespace feedmill {
namespace {

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kConflict = 409;

class AzureEditRequest final : public RequestMaker {
 public:
  AzureEditRequest(std::string name, CloudUrl object, AzureAccess access,
                   AzureEdit change)
      : name_(std::move(name)),
        object_(std::move(object)),
        access_(std::move(access)),
        change_(std::move(change)) {}

  absl::Status Prepare() const override {
    return Annotate(Request().status(), name_);
  }
  StoreRequest Make() const override {
    auto request = Request();  // OK, as in Prepare
    return request.ok() ? *std::move(request) : StoreRequest{};
  }
  absl::Status Refusal(const ResponseHead& head,
                       std::string_view body) const override {
    const int status = head.status();
    const std::string code = WordOf(body, "Code");
    if (status == kConflict && code == "BlobAlreadyExists") {
      return absl::AlreadyExistsError(name_);
    }
    if (status == kNotFound) {
      return NotFound("{}: there is no such {} ({} {})", name_,
                      code == "ContainerNotFound" ? "bucket" : "object", status,
                      code);
    }
    if (status == kUnauthorized || status == kForbidden) {
      return FailedPrecondition(
          "{}: refused ({} {}): this login may not {} it; allow it to write "
          "and to delete objects of the container",
          name_, status, code, change_.body == nullptr ? "remove" : "write");
    }
    return FailedPrecondition(
        "{}: the store answers {} {} instead of {} the object; check the URL "
        "and the endpoint",
        name_, status, code, change_.body == nullptr ? "removing" : "storing");
  }

 private:
  absl::StatusOr<StoreRequest> Request() const {
    return AzureRequest(access_, object_, change_, absl::Now());
  }

  const std::string name_;
  const CloudUrl object_;
  const AzureAccess access_;
  const AzureEdit change_;
};

class AzureFiles final : public ForwardingFiles {
 public:
  AzureFiles(std::shared_ptr<HttpStore> store, Environment environment,
             std::shared_ptr<const FileSystem> files)
      : store_(std::move(store)),
        environment_(std::move(environment)),
        files_(std::move(files)) {}

  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override {
    const absl::Status made = Change(name, Put(bytes, /*only_new=*/false));
    return absl::IsUnimplemented(made) ? ForwardingFiles::Write(name, bytes)
                                       : made;
  }
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override {
    const absl::Status made = Change(name, Put(bytes, /*only_new=*/true));
    if (absl::IsUnimplemented(made)) {
      return ForwardingFiles::WriteNew(name, bytes);
    }
    if (absl::IsAlreadyExists(made)) return false;
    FM_RETURN_IF_ERROR(made);
    return true;
  }
  absl::Status Remove(const std::string& name) const override {
    const absl::Status removed = Change(name, {.method = "DELETE"});
    if (absl::IsUnimplemented(removed)) return ForwardingFiles::Remove(name);
    return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
  }

 private:
  static AzureEdit Put(std::string_view bytes, bool only_new) {
    return {.only_new = only_new,
            .body = std::make_shared<const std::string>(bytes)};
  }

  // Unimplemented: the login is of a kind that only Arrow's client knows.
  absl::Status Change(const std::string& name, AzureEdit change) const {
    FM_ASSIGN_OR_RETURN(CloudUrl url, ParseCloudUrl("az", name));
    if (url.options.empty()) url.key = NameWithoutEscape(std::move(url.key));
    if (url.key.empty() || url.key.ends_with('/')) {
      return NotFound("{}: it names a folder, which is no file", name);
    }
    auto access =
        AzureAccessOf(url.access, [this](const std::string& variable) {
          return environment_.Get(variable).value_or("");
        });
    if (!access.ok()) return Annotate(access.status(), name);
    if (!access->anonymous && access->key.empty() && access->token.empty()) {
      return absl::UnimplementedError("Azure's default credentials");
    }
    const auto maker = std::make_shared<const AzureEditRequest>(
        name, std::move(url), *std::move(access), std::move(change));
    FM_RETURN_IF_ERROR(maker->Prepare());
    return store_->Run(
        Transfer::Whole({name, maker}, std::nullopt, store_->options));
  }

  absl::StatusOr<const FileSystem*> Target(
      const std::string& /*name*/) const override {
    return files_.get();
  }

  const std::shared_ptr<HttpStore> store_;
  const Environment environment_;
  const std::shared_ptr<const FileSystem> files_;
};

}  // namespace

std::shared_ptr<const FileSystem> MakeAzureFiles(
    std::shared_ptr<HttpStore> store, Environment environment,
    std::shared_ptr<const FileSystem> files) {
  return std::make_shared<const AzureFiles>(
      std::move(store), std::move(environment), std::move(files));
}

}  // namespace feedmill
