#include "stores/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

TEST(Urls, NameOneFile) {
  for (const char* url :
       {"http://h/a", "https://h:80/a/b.csv", "http://u:p@h/a",
        "http://h/a?b=*", "http://h/a/?list=[1]", "http://h?a",
        "http://[::1]:80/a", "http://h/\xc3\xa9"}) {
    EXPECT_TRUE(CheckUrl(url).ok()) << url;
    const auto same = UrlOfPattern(url);
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(*same, url);
  }
  EXPECT_EQ(*UrlOfPattern("http://h/a[*]b[[]c]?d[*]"), "http://h/a*b[c]?d[*]");
}

TEST(Urls, PatternsAndFoldersAreErrorsThatSayWhatToWrite) {
  for (const char* pattern :
       {"http://h/*.csv", "http://h/[ab].csv", "http://h/**", "http://h/[?]"}) {
    const auto url = UrlOfPattern(pattern);
    EXPECT_TRUE(absl::IsInvalidArgument(url.status())) << pattern;
    EXPECT_THAT(ErrorText(url.status()), HasSubstr("name each file"));
  }
  const std::pair<const char*, const char*> cases[] = {
      {"http://h/a/", "names a folder"},
      {"http://h", "has no path"},
      {"http:///a", "names no host"},
      {"http://h/a b", "write it as %20"},
      {"http://h/a#b", "write it as %23"},
      {"http://h/a\nb", "write it as %0A"}};
  for (const auto& [url, message] : cases) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckUrl(url))) << url;
    EXPECT_THAT(ErrorText(CheckUrl(url)), HasSubstr(message));
    EXPECT_EQ(UrlOfPattern(url).status(), CheckUrl(url));
  }
}

TEST(Urls, ErrorsShowNoSecrets) {
  for (const char* url :
       {"http://me:key@h/a b/*?key", "http://h/a b/c#*key", "http://me:k ey@h",
        "http://me:key@h/a b/?#key", "http://me:key@"}) {
    const std::string error = ErrorText(UrlOfPattern(url).status());
    EXPECT_THAT(error, HasSubstr("http://")) << url;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("key"))) << url;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("me:"))) << url;
  }
}

}  // namespace
}  // namespace feedmill
