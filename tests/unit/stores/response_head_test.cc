#include "stores/http/response_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

ResponseHead HeadOf(std::initializer_list<const char*> lines) {
  ResponseHead head;
  for (const char* line : lines) head.TakeLine(line);
  return head;
}

TEST(ContentRanges, AreReadAsTheStandardSays) {
  const auto range = ParseContentRange("bytes 5-9/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 5u);
  EXPECT_EQ(range->end, 10u);
  EXPECT_EQ(range->total, 20u);
  EXPECT_EQ(ParseContentRange("Bytes 5-9/*")->total, std::nullopt);
  EXPECT_EQ(ParseContentRange("bytes */20")->total, 20u);
  EXPECT_EQ(ParseContentRange("bytes */20")->end, 0u);
  for (const char* bad :
       {"", "bytes", "bytes 5-9", "bytes 9-5/20", "bytes 5-20/20",
        "bytes a-9/20", "bytes 5-9/x", "items 5-9/20", "bytes -9/20",
        "bytes 5-/20", "bytes 0-18446744073709551615/*",
        "bytes 5-9/18446744073709551616"}) {
    EXPECT_FALSE(ParseContentRange(bad)) << bad;
  }
}

TEST(HttpDates, AreReadAndWritten) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  for (const int64_t seconds : {int64_t{0}, int64_t{784111777},
                                int64_t{951782400}, int64_t{4102444799}}) {
    EXPECT_EQ(ParseHttpDate(FormatHttpDate(seconds)), seconds);
  }
  EXPECT_EQ(FormatHttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* bad :
       {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun, 06 Now 1994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1094 08:49:37 GMT", "Sun, 06 Nov 9994 08:49:37 GMT"}) {
    EXPECT_FALSE(ParseHttpDate(bad)) << bad;
  }
}

TEST(ResponseHeads, TheLastAnswerOfRedirectsCounts) {
  const ResponseHead head = HeadOf(
      {"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n", "Content-Length: 7\r\n",
       "\r\n", "HTTP/2 206 \r\n", "content-length:  9 \r\n",
       "CONTENT-RANGE: bytes 0-8/9\r\n", "etag: \"new\"\r\n", "\r\n"});
  EXPECT_EQ(head.status(), 206);
  EXPECT_EQ(head.content_length(), 9u);
  EXPECT_EQ(head.content_range()->end, 9u);
  EXPECT_EQ(head.Identity(9), (FileIdentity{9, 0, "\"new\""}));
}

TEST(ResponseHeads, AreRobust) {
  for (const char* line : {"", "HTTP/", "HTTP/1.1", "HTTP/1.1 xyz", ":", "a",
                           "HTTP/1.1 ", "Content-Length: -1"}) {
    const ResponseHead head = HeadOf({line});
    EXPECT_EQ(head.status(), 0) << line;
    EXPECT_EQ(head.content_length(), std::nullopt) << line;
  }
}

TEST(ResponseHeads, VersionIsAStrongEtagElseTheTimeOfChange) {
  const char* const time = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";
  const FileIdentity by_time{9, 784111777'000'000'000};
  EXPECT_EQ(HeadOf({"ETag: \"a\"", time}).Identity(9),
            (FileIdentity{9, 0, "\"a\""}));
  EXPECT_EQ(HeadOf({"ETag: W/\"a\"", time}).Identity(9), by_time);
  EXPECT_EQ(HeadOf({"ETag: a", time}).Identity(9), by_time);
  EXPECT_EQ(HeadOf({"ETag: W/\"a\""}).Identity(9),
            (FileIdentity{9, 0, "W/\"a\""}));
  EXPECT_EQ(HeadOf({"ETag: W/\"a\"", time}).Version(9),
            (FileIdentity{9, by_time.mtime_ns, "W/\"a\""}));
  EXPECT_EQ(HeadOf({"ETag: \"a\"", time}).Version(9),
            (FileIdentity{9, 0, "\"a\""}));
  EXPECT_EQ(HeadOf({}).Identity(9), FileIdentity{9});
  EXPECT_EQ(ConditionOf({9, 0, "\"a\""}), "If-Match: \"a\"");
  EXPECT_EQ(ConditionOf(by_time),
            "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(ConditionOf({9}), "");
  EXPECT_EQ(ConditionOf({9, 0, "W/\"a\""}), "");
}

TEST(ResponseHeads, TheEndOfABodyIsKnownOrNot) {
  EXPECT_FALSE(HeadOf({"HTTP/1.0 200 OK"}).has_end());
  EXPECT_FALSE(HeadOf({"HTTP/1.1 200 OK", "Connection: close"}).has_end());
  EXPECT_TRUE(HeadOf({"HTTP/1.1 200 OK", "Content-Length: 0"}).has_end());
  EXPECT_TRUE(HeadOf({"HTTP/1.1 200 OK", "Transfer-Encoding: gzip, Chunked"})
                  .has_end());
  EXPECT_TRUE(HeadOf({"HTTP/2 200"}).has_end());
}

TEST(ResponseHeads, SayWhetherTheStoreDecompressed) {
  const char* const stored = "x-goog-stored-content-encoding: gzip";
  EXPECT_TRUE(HeadOf({stored}).transcoded());
  EXPECT_FALSE(HeadOf({stored, "Content-Encoding: GZIP"}).transcoded());
  EXPECT_FALSE(
      HeadOf({"x-goog-stored-content-encoding: identity"}).transcoded());
  EXPECT_FALSE(HeadOf({"Content-Encoding: gzip"}).transcoded());
}

TEST(ResponseHeads, RetryAfterIsSecondsOrATimeOfTheServersClock) {
  const char* const date = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
  EXPECT_EQ(HeadOf({"Retry-After: 7"}).RetryAfter(), absl::Seconds(7));
  EXPECT_EQ(
      HeadOf({date, "Retry-After: Sun, 06 Nov 1994 08:50:00 GMT"}).RetryAfter(),
      absl::Seconds(23));
  EXPECT_EQ(
      HeadOf({date, "Retry-After: Sun, 06 Nov 1994 08:00:00 GMT"}).RetryAfter(),
      absl::ZeroDuration());
  EXPECT_EQ(HeadOf({"Retry-After: soon"}).RetryAfter(), std::nullopt);
  EXPECT_EQ(HeadOf({date}).RetryAfter(), std::nullopt);
}

TEST(Answers, AreRepeatedOrRefused) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504, 599}) {
    EXPECT_TRUE(MayPass(status)) << status;
  }
  for (const int status : {0, 200, 206, 302, 400, 401, 403, 404, 412, 501}) {
    EXPECT_FALSE(MayPass(status)) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(RefusalOf("http://h/a", 404)));
  EXPECT_TRUE(absl::IsFailedPrecondition(RefusalOf("http://h/a", 403)));
  EXPECT_THAT(ErrorText(RefusalOf("http://h/a", 405)),
              HasSubstr("http://h/a: the server answers 405"));
}

}  // namespace
}  // namespace feedmill
