// Answers of S3 stores, and names of objects: no crash, names stay what they
// are, and no secret of an answer in a message.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/io/key_glob.h"
#include "core/io/url_options.h"
#include "stores/s3/list_page.h"
#include "stores/s3/s3_bucket.h"
#include "stores/s3/s3_url.h"

namespace feedmill {
namespace {

void Require(bool fact) {
  if (!fact) std::abort();
}

// A listing without a network: each page has the same objects.
void Glob(const std::string& pattern, const ListPage& page) {
  const ListKeys list = [&page](std::span<const ListTask> tasks,
                                const TakePage& take) {
    for (size_t task = 0; task < tasks.size(); ++task) {
      ListPage own;
      for (const ListedObject& object : page.objects) {
        if (object.key.starts_with(tasks[task].prefix)) {
          own.objects.push_back(object);
        }
      }
      FM_RETURN_IF_ERROR(take(task, std::move(own)));
    }
    return absl::OkStatus();
  };
  const auto found = GlobKeys(pattern, list);
  if (found.ok()) Require(found->size() <= page.objects.size());
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto page = ParseListPage(text);
  if (page.ok()) {
    Require(!page->truncated || !page->next.empty());
    for (const ListedObject& object : page->objects) {
      Require(PercentDecoded(PercentEncoded(object.key, "/")) == object.key);
    }
    Glob("*/[a-c]*/**", *page);
  }

  const std::string secret = "s3cr3t!";
  ResponseHead head;
  head.TakeLine("HTTP/1.1 403 x");
  const absl::Status refusal =
      S3Refusal("s3://b/k", head, text + "<Message>" + secret + "</Message>");
  Require(!refusal.ok());
  Require(ErrorText(refusal).find(secret) == std::string::npos);

  const auto url = ParseS3Url("s3://" + text, {.region = "r"});
  if (url.ok()) {
    const std::string name =
        fmt::format("s3://{}/{}{}", url->bucket, url->key, url->options);
    const auto again = ParseS3Url(name, {.region = "r"});
    Require(again.ok() && again->key == url->key &&
            again->access == url->access);
    Require(BucketUrl(url->bucket, url->access).starts_with("http"));
  }
  return 0;
}
