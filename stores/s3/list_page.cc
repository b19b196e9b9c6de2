#include "stores/s3/list_page.h"

#include <expat.h>

#include <charconv>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/time/time.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/io/url_options.h"

namespace feedmill {
namespace {

constexpr size_t kTextBytesMax = 8192;
constexpr size_t kDepthMax = 16;
constexpr int64_t kSecondsMax = int64_t{7} * 1'000'000'000;  // year 2191

// Collects the elements of a ListBucketResult.
class PageReader {
 public:
  explicit PageReader(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, &OnBegin, &OnEnd);
    XML_SetCharacterDataHandler(parser, &OnText);
    // Listings never declare entities, which could expand without limit.
    XML_SetEntityDeclHandler(parser, &OnEntity);
  }

  // Empty if there is no fault.
  const std::string& fault() const { return fault_; }

  absl::StatusOr<ListPage> Page() && {
    if (root_ != "ListBucketResult") {
      return DataLoss("the answer is no listing but '{}'", root_.substr(0, 64));
    }
    // Some stores send the token alone.
    if (!says_truncated_) page_.truncated = !page_.next.empty();
    if (page_.truncated && page_.next.empty()) {
      return DataLoss(
          "the listing is truncated, but has no continuation token");
    }
    if (encoded_) FM_RETURN_IF_ERROR(Decode());
    return std::move(page_);
  }

 private:
  static void OnBegin(void* user, const XML_Char* name, const XML_Char**) {
    auto& self = *static_cast<PageReader*>(user);
    if (self.path_.empty()) self.root_ = name;
    self.path_.emplace_back(name);
    self.text_.clear();
    if (self.path_.size() > kDepthMax) self.Stop("its XML is too deep");
    if (self.IsAt("Contents")) {
      self.page_.objects.emplace_back();
      self.has_size_ = false;
    }
  }

  static void OnEnd(void* user, const XML_Char*) {
    auto& self = *static_cast<PageReader*>(user);
    self.TakeText();
    if (self.IsAt("Contents")) self.EndObject();
    self.path_.pop_back();
    self.text_.clear();
  }

  static void OnText(void* user, const XML_Char* text, int size) {
    auto& self = *static_cast<PageReader*>(user);
    self.text_.append(text, static_cast<size_t>(size));
    if (self.text_.size() > kTextBytesMax) self.Stop("a text is too long");
  }

  static void OnEntity(void* user, const XML_Char*, int, const XML_Char*, int,
                       const XML_Char*, const XML_Char*, const XML_Char*,
                       const XML_Char*) {
    static_cast<PageReader*>(user)->Stop("it declares entities");
  }

  void Stop(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
    XML_StopParser(parser_, XML_FALSE);
  }

  bool IsAt(std::string_view a) const {
    return path_.size() == 2 && path_[1] == a;
  }
  bool IsAt(std::string_view a, std::string_view b) const {
    return path_.size() == 3 && path_[1] == a && path_[2] == b;
  }

  void TakeText() {
    if (IsAt("IsTruncated")) TakeTruncated();
    if (IsAt("NextContinuationToken")) page_.next = text_;
    if (IsAt("EncodingType")) encoded_ = text_ == "url";
    if (IsAt("CommonPrefixes", "Prefix")) page_.prefixes.push_back(text_);
    if (path_.size() != 3 || path_[1] != "Contents") return;
    ListedObject& object = page_.objects.back();
    if (path_[2] == "Key") object.key = text_;
    if (path_[2] == "ETag") TakeEtag(object);
    if (path_[2] == "Size") TakeSize(object);
    if (path_[2] == "LastModified") TakeTime(object);
  }

  // Adds the quotation marks that the HTTP header has.
  void TakeEtag(ListedObject& object) {
    if (text_.empty() || text_.starts_with("W/")) return;
    const bool quoted = text_.front() == '"';
    object.identity.etag = quoted ? text_ : fmt::format("\"{}\"", text_);
  }

  // Rounds to whole seconds, like HTTP headers.
  void TakeTime(ListedObject& object) {
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, text_, &time, nullptr)) return;
    const int64_t seconds = absl::ToUnixSeconds(time);
    if (seconds <= 0 || seconds > kSecondsMax) return;
    object.identity.mtime_ns = object.written_ns = seconds * 1'000'000'000;
  }

  void TakeTruncated() {
    const auto truncated = ParseFlag(text_);
    if (!truncated) Stop("IsTruncated is neither true nor false");
    page_.truncated = truncated.value_or(false);
    says_truncated_ = true;
  }

  // Keeps either the ETag or the time, like ResponseHead. Keeps neither without
  // a size: readers then ask for the object's identity.
  void EndObject() {
    ListedObject& object = page_.objects.back();
    if (object.key.empty()) Stop("an object has no key");
    if (!has_size_) object.identity = {};
    if (!object.identity.etag.empty()) object.identity.mtime_ns = 0;
  }

  void TakeSize(ListedObject& object) {
    const char* const end = text_.data() + text_.size();
    const auto [at, error] =
        std::from_chars(text_.data(), end, object.identity.size);
    if (error != std::errc() || at != end) Stop("a size is no number");
    has_size_ = true;
  }

  // With encoding-type=url, keys are percent-encoded, a space as '+'.
  static bool DecodeKey(std::string& key) {
    for (char& c : key) {
      if (c == '+') c = ' ';
    }
    auto decoded = PercentDecoded(key);
    if (decoded) key = *std::move(decoded);
    return decoded.has_value();
  }

  absl::Status Decode() {
    bool good = true;
    for (auto& object : page_.objects) good = DecodeKey(object.key) && good;
    for (auto& prefix : page_.prefixes) good = DecodeKey(prefix) && good;
    if (good) return absl::OkStatus();
    return DataLoss("the listing has a key with a '%' of no meaning");
  }

  const XML_Parser parser_;
  std::vector<std::string> path_;
  std::string root_;
  std::string text_;
  std::string fault_;
  bool encoded_ = false;
  bool says_truncated_ = false;
  bool has_size_ = false;  // the object that is being read
  ListPage page_;
};

}  // namespace

absl::Status ListingProgress::Take(const ListPage& page) {
  constexpr size_t kPagesMax = 1'000'000;
  // AWS sends empty pages for many deleted objects.
  constexpr size_t kEmptyMax = 1'000;
  constexpr size_t kRepeatedMax = 10;
  if (++pages_ > kPagesMax) {
    return ResourceExhausted(
        "the listing has more than {} pages; name a folder with fewer objects",
        kPagesMax);
  }
  const std::string* const first =
      !page.objects.empty()    ? &page.objects.front().key
      : !page.prefixes.empty() ? &page.prefixes.front()
                               : nullptr;
  if (first == nullptr) {
    ++empty_;
  } else if (!first_names_.insert(std::hash<std::string>()(*first)).second) {
    ++repeated_;
  } else {
    empty_ = repeated_ = 0;
  }
  if (empty_ <= kEmptyMax && repeated_ <= kRepeatedMax) {
    return absl::OkStatus();
  }
  return DataLoss(
      "the listing does not end: the store sends {} again and again; check the "
      "endpoint",
      first == nullptr ? "empty pages" : "the same page");
}

absl::StatusOr<ListPage> ParseListPage(std::string_view xml) {
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>,
                        decltype(&XML_ParserFree)>
      parser(XML_ParserCreate(nullptr), &XML_ParserFree);
  if (parser == nullptr) return ResourceExhausted("no memory for a listing");
  PageReader reader(parser.get());
  const XML_Status status = XML_Parse(parser.get(), xml.data(),
                                      static_cast<int>(xml.size()), XML_TRUE);
  if (!reader.fault().empty()) {
    return DataLoss("the answer is no listing: {}", reader.fault());
  }
  if (status != XML_STATUS_OK) {
    return DataLoss("the answer is no listing: {} in line {}",
                    XML_ErrorString(XML_GetErrorCode(parser.get())),
                    XML_GetCurrentLineNumber(parser.get()));
  }
  return std::move(reader).Page();
}

}  // namespace feedmill
