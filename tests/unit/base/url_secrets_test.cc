#include "core/base/url_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace feedmill {
namespace {

TEST(UrlSecrets, HidesLoginsAndQueriesOfUrlsOnly) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"a?b@c: no URL", "a?b@c: no URL"},
      {"http://host/a", "http://host/a"},
      {"http://me:key@host/a", "http://host/a"},
      {"https://me@host:80", "https://host:80"},
      {"http://a@b@host/c@d", "http://host/c@d"},
      {"https://host/a?sig=1", "https://host/a?..."},
      {"https://host?sig=1/2@3", "https://host?..."},
      {"https://host/a#part?x", "https://host/a?..."},
      {"in http://host/a?sig=1: not found", "in http://host/a?...: not found"},
      {"'http://u:p@host/a?b', and", "'http://host/a?...', and"},
      {"{\"file\":\"http://u:p@host/a?b=c\",\"record\":1}",
       "{\"file\":\"http://host/a?...\",\"record\":1}"},
      {"http://u:p@h/a?b (http://v:q@i/c?d)",
       "http://h/a?... (http://i/c?...)"},
      {"http://h/a?next=http://u:p@i/b", "http://h/a?..."},
      {"http://u:p@h/a/http://v:q@i/b", "http://h/a/http://i/b"},
      {"http://u:p@h/a/http://v:q@i?b", "http://h/a/http://i?..."},
      {"http://u:p@h/a/tcp://v@i?b", "http://h/a/tcp://v@i?..."},
      {"http://", "http://"},
      {"tcp://u@h?x", "tcp://u@h?x"},
      {"s3://u:p@b/a?*", "s3://b/a?*"},
      {"s3://b/a@1?region=x: gone", "s3://b/a@1?region=x: gone"},
      {"az://u:p@c/a and http://h/b?c", "az://c/a and http://h/b?..."},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(HideUrlSecrets(text), shown);
    EXPECT_EQ(HideUrlSecrets(shown), shown);
  }
}

TEST(UrlSecrets, NoErrorShowsThem) {
  const std::string url = "https://me:key@host/a?sig=1";
  const std::string shown = "https://host/a?...: gone";
  EXPECT_EQ(ErrorText(NotFound("{}: gone", url)), shown);
  EXPECT_EQ(ErrorText(Annotate(absl::NotFoundError("gone"), url)), shown);
}

}  // namespace
}  // namespace feedmill
