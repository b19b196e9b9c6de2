// Answers of web servers, and names of files there: no crash, no byte beside
// those that were asked for, and no secret of a URL in a message.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "stores/http/transfer.h"
#include "stores/http/url.h"

namespace feedmill {
namespace {

void Require(bool fact) {
  if (!fact) std::abort();
}

// The lines up to an empty one are the head of each answer, the rest its body.
void Answer(std::string_view text, Transfer& transfer) {
  absl::Time now = absl::UnixEpoch();
  for (int attempt = 0; attempt < 4; ++attempt) {
    std::string_view rest = text;
    transfer.BeginAttempt(now);
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end);
      if (line == "\n" || line == "\r\n") break;
      transfer.TakeHeaderLine(line, now);
    }
    const bool taken =
        transfer.TakeBody(std::as_bytes(std::span<const char>(rest)), now);
    const AttemptEnd end{
        taken ? AttemptEnd::Kind::kAnswered : AttemptEnd::Kind::kCut, "cut"};
    const auto next = transfer.EndAttempt(now, end);
    if (!next) return;
    Require(*next > now);
    now = *next;
  }
  transfer.Finish(Cancelled("enough"));
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace feedmill;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string url = "http://h/a";
  HttpOptions options;
  options.whole_bytes_max = 64;
  std::string out(8, '-');
  const auto range = Transfer::Range(
      url, {10, 6}, {100, 0, "\"v\""},
      std::as_writable_bytes(std::span<char>(out).subspan(1, 6)), options);
  Answer(text, *range);
  Require(out.front() == '-' && out.back() == '-');
  const auto probe = Transfer::Probe(url, options);
  Answer(text, *probe);
  if (probe->WaitForEnd().ok()) {
    Require(probe->TakeFirst().size() <= Transfer::kProbeBytes);
  }
  const auto whole = Transfer::Whole(url, std::nullopt, options);
  Answer(text, *whole);
  if (whole->WaitForEnd().ok()) {
    Require(whole->TakeWhole().size() == whole->identity().size);
  }
  const std::string name = "http://u:key@h/" + text;
  // A path may have the same bytes as the secret.
  Require(!HideUrlSecrets(name).starts_with("http://u:key"));
  Require(HideUrlSecrets(HideUrlSecrets(name)) == HideUrlSecrets(name));
  const auto named = UrlOfPattern(name);
  if (named.ok()) Require(CheckUrl(*named).ok());
  return 0;
}
