#include "stores/s3/list_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace feedmill {
namespace {

using ::testing::HasSubstr;

TEST(ListPage, HasObjectsAndFoldersOfAnAnswer) {
  const auto page = ParseListPage(
      "<?xml version=\"1.0\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<Prefix>a/</Prefix><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t+k=</NextContinuationToken>"
      "<Contents><Key>a/1 &amp; 2</Key><ETag>&quot;e1&quot;</ETag>"
      "<LastModified>2026-11-25T18:49:56Z</LastModified>"
      "<Size>12</Size><Owner><ID>x</ID></Owner></Contents>"
      "<Contents><Key>a/3</Key><Size>5</Size>"
      "<LastModified>2026-11-25T18:49:56.789Z</LastModified></Contents>"
      "<CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>"
      "</ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a/1 & 2");
  EXPECT_EQ(page->objects[0].identity, (FileIdentity{12, 0, "\"e1\""}));
  EXPECT_EQ(page->objects[1].identity,
            (FileIdentity{5, 1'795'632'596'000'000'000}));
  EXPECT_EQ(page->prefixes, std::vector<std::string>{"a/b/"});
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->next, "t+k=");
}

TEST(ListPage, DecodesKeysOfAnEncodedListing) {
  const auto page = ParseListPage(
      "<ListBucketResult><EncodingType>url</EncodingType>"
      "<Contents><Key>a%2B+%C3%BC</Key></Contents>"
      "<CommonPrefixes><Prefix>b%25/</Prefix></CommonPrefixes>"
      "</ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->objects[0].key, "a+ ü");
  EXPECT_EQ(page->prefixes[0], "b%/");
}

TEST(ListPage, RefusesAnswersThatAreNoListing) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no listing"},
      {"<html>", "no listing"},
      {"<html/>", "'html'"},
      {"<ListBucketResult>", "no listing"},
      {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
       "no continuation token"},
      {"<ListBucketResult><Contents><Size>x</Size></Contents>"
       "</ListBucketResult>",
       "size"},
      {"<ListBucketResult><IsTruncated>maybe</IsTruncated></ListBucketResult>",
       "neither true nor false"},
      {"<ListBucketResult><Contents><Size>1</Size></Contents>"
       "</ListBucketResult>",
       "no key"},
      {"<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%4"
       "</Key></Contents></ListBucketResult>",
       "'%'"},
      {"<!DOCTYPE x [<!ENTITY e \"f\">]><ListBucketResult/>", "entities"},
  };
  for (const auto& [xml, part] : cases) {
    const auto page = ParseListPage(xml);
    EXPECT_TRUE(absl::IsDataLoss(page.status())) << xml;
    EXPECT_THAT(std::string(page.status().message()), HasSubstr(part)) << xml;
  }
}

TEST(ListPage, AnObjectWithoutASizeHasNoIdentity) {
  const auto page = ParseListPage(
      "<ListBucketResult><Contents><Key>a</Key><ETag>\"e\"</ETag></Contents>"
      "<Contents><Key>b</Key><ETag>\"e\"</ETag><Size>0</Size></Contents>"
      "</ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(KnowsSizeOnly(page->objects[0].identity));
  EXPECT_FALSE(page->objects[0].is_empty());
  EXPECT_TRUE(page->objects[1].is_empty());
}

TEST(ListPage, ContinuesIfTheStoreSaysSoInAnyForm) {
  const auto goes_on = [](const std::string& inner) {
    const auto page =
        ParseListPage("<ListBucketResult>" + inner + "</ListBucketResult>");
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() && page->truncated;
  };
  const std::string token = "<NextContinuationToken>t</NextContinuationToken>";
  EXPECT_TRUE(goes_on(token));
  for (const char* const word : {"true", "True", "TRUE", "1"}) {
    EXPECT_TRUE(goes_on(token + "<IsTruncated>" + word + "</IsTruncated>"));
  }
  for (const char* const word : {"false", "False", "0"}) {
    EXPECT_FALSE(goes_on(token + "<IsTruncated>" + word + "</IsTruncated>"));
  }
  EXPECT_FALSE(goes_on(""));
}

TEST(ListingProgress, EndsListingsThatDoNotEnd) {
  const auto pages_until_error = [](auto page_of) {
    ListingProgress progress;
    for (int k = 0; k < 2'000'000; ++k) {
      const absl::Status status = progress.Take(page_of(k));
      if (!status.ok()) return std::pair(k, std::string(status.message()));
    }
    return std::pair(-1, std::string());
  };
  const auto [same, why] =
      pages_until_error([](int) { return ListPage{.objects = {{"a"}}}; });
  EXPECT_LT(same, 100);
  EXPECT_NE(same, -1);
  EXPECT_THAT(why, HasSubstr("the same page again and again"));
  const auto in_a_circle = pages_until_error([](int k) {
    return ListPage{.prefixes = {std::to_string(k % 50) + "/"}};
  });
  EXPECT_THAT(in_a_circle.second, HasSubstr("the same page"));
  const auto empty = pages_until_error([](int) { return ListPage{}; });
  EXPECT_THAT(empty.second, HasSubstr("empty pages again and again"));
  const auto [pages, of_new] = pages_until_error(
      [](int k) { return ListPage{.objects = {{std::to_string(k)}}}; });
  EXPECT_EQ(pages, 1'000'000);
  EXPECT_THAT(of_new, HasSubstr("more than 1000000 pages"));
}

TEST(ListPage, RefusesXmlThatIsDeepOrLong) {
  std::string deep;
  for (int k = 0; k < 1000; ++k) deep += "<a>";
  EXPECT_TRUE(absl::IsDataLoss(ParseListPage(deep).status()));
  const std::string text(100'000, 'x');
  EXPECT_TRUE(absl::IsDataLoss(
      ParseListPage("<ListBucketResult><Contents><Key>" + text).status()));
}

}  // namespace
}  // namespace feedmill
