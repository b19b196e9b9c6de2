#include "core/base/url_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <string_view>

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
      {"HTTPS://me:key@host/a?sig=1", "HTTPS://host/a?..."},
      {"Http://me@host", "Http://host"},
      {"ftp://me:key@host/a?b", "ftp://host/a?..."},
      {"s3a://u:p@b/a", "s3a://b/a"},
      {"file:///a@b?c", "file:///a@b?c"},
      {"http://me:k{e|y<@host/a", "http://host/a"},
      {"http://me:k e\ty\n@host/a", "http://host/a"},
      {"http://me:\"'`^\\>@host/a", "http://host/a"},
      {"http://me:k/e?y#z@host/a@b", "http://host/a@b"},
      {"http://me:k@%/e@host/a?b", "http://host/a?..."},
      {"http://me:k/e y@host/a@b", "http://host/a@b"},
      {"http://me:k?e@host/a", "http://host/a"},
      {"http://host:80/a@b", "http://host:80/a@b"},
      {"http://[::1]:80/a@b", "http://[::1]:80/a@b"},
      {"http://host: is x/y@z?", "http://host: is x/y@z?"},
      {"https://host/a?s{i}g|=<1>^`\"'\\x: gone", "https://host/a?...: gone"},
      {"<https://host/a?b>, `https://host/a?b`",
       "<https://host/a?...>, `https://host/a?...`"},
      {"\"https://host/a?b\",\"c?d\"", "\"https://host/a?...\",\"c?d\""},
      {"'http://h/a b?c d': gone, 'e f?g'",
       "'http://h/a b?...': gone, 'e f?g'"},
      {"\"http://h/a b?c d\" and \"e?f\"", "\"http://h/a b?...\" and \"e?f\""},
      {"'http://h/a', and b?c", "'http://h/a', and b?c"},
      {"'http://h/a b?c d", "'http://h/a b?..."},
      {"http://h/a: is it right?yes", "http://h/a: is it right?yes"},
      {"http://u:p@h/a/s3://v:q@b?c", "http://h/a/s3://b?..."},
      {"az://u:p@c/a and http://h/b?c", "az://c/a and http://h/b?..."},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(HideUrlSecrets(text), shown);
    EXPECT_EQ(HideUrlSecrets(shown), shown);
  }
}

// Sentences with URLs of random schemes and characters, whose login, query and
// fragment have a secret.
TEST(UrlSecrets, HidesSecretsOfAnyPrintableCharacters) {
  const std::string secret = "SECRET";
  std::mt19937 random(7);
  const auto any_of = [&](const auto& choices) {
    return std::string(choices[random() % std::size(choices)]);
  };
  const auto noise = [&](std::string_view without) {
    std::string text;
    while (random() % 4 != 0) {
      const char c = static_cast<char>(0x21 + random() % 0x5e);
      if (without.find(c) == without.npos) text += c;
    }
    return text;
  };
  constexpr const char* kSchemes[] = {"http", "https", "HTTP", "hTTps", "ftp"};
  constexpr std::string_view kNone[] = {"@", "/?#"};  // one kind in a password
  constexpr const char* kQueries[] = {"?", "#", "?a=", "/b?"};
  constexpr const char* kBefore[] = {"", "x: ", "cannot read '", "(", "<"};
  constexpr const char* kAfter[] = {"", ": gone", "': no", "), b", "> c"};
  for (int k = 0; k < 10'000; ++k) {
    // A password of digits and then "/" is taken for a port and a path.
    const std::string none = any_of(kNone);
    const std::string login =
        noise("/?#@:") + ":x" + noise(none) + secret + noise(none) + "@";
    const std::string query = any_of(kQueries) + noise("") + secret + noise("");
    const std::string url = any_of(kSchemes) + "://" + login + "host/a" + query;
    const std::string text = any_of(kBefore) + url + any_of(kAfter);
    const std::string shown = HideUrlSecrets(text);
    EXPECT_EQ(shown.find(secret), shown.npos) << text << "\n" << shown;
    EXPECT_EQ(HideUrlSecrets(shown), shown) << text;
  }
}

TEST(ShownName, HasNoBlanksIfItIsAUrl) {
  const std::pair<const char*, const char*> cases[] = {
      {"a b?c", "a b?c"},
      {"a http://u:p@h/x y", "a http://h/x y"},
      {"http://u:p@h/a b?c d", "http://h/a%20b?..."},
      {"HTTPS://u:p q@h/a\nb?c", "HTTPS://h/a%0Ab?..."}};
  for (const auto& [name, shown] : cases) EXPECT_EQ(ShownName(name), shown);
}

TEST(UrlSecrets, NoErrorShowsThem) {
  const std::string url = "https://me:key@host/a?sig=1";
  const std::string shown = "https://host/a?...: gone";
  EXPECT_EQ(ErrorText(NotFound("{}: gone", url)), shown);
  EXPECT_EQ(ErrorText(Annotate(absl::NotFoundError("gone"), url)), shown);
}

}  // namespace
}  // namespace feedmill
