// A transfer judges answers; this test plays the network.

#include "stores/http/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "core/base/status.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr char kUrl[] = "http://h/a";
const FileIdentity kVersion{100, 0, "\"v\""};

class TransferTest : public ::testing::Test {
 protected:
  void Head(Transfer& transfer, std::initializer_list<const char*> lines) {
    for (const char* line : lines) transfer.TakeHeaderLine(line, now_);
  }
  // Sends a 206 answer of bytes [begin, end) of 100.
  void HeadOfRange(Transfer& transfer, int begin, int end,
                   const char* etag = "\"v\"") {
    Head(transfer, {"HTTP/1.1 206 x"});
    transfer.TakeHeaderLine(fmt::format("ETag: {}", etag), now_);
    transfer.TakeHeaderLine(
        fmt::format("Content-Range: bytes {}-{}/100", begin, end - 1), now_);
  }
  bool Body(Transfer& transfer, const std::string& bytes) {
    return transfer.TakeBody(std::as_bytes(std::span<const char>(bytes)), now_);
  }
  std::shared_ptr<Transfer> Range(uint64_t offset, uint64_t size) {
    return Transfer::Range(kUrl, {offset, size}, kVersion, {}, options_);
  }
  // Cuts each attempt of a transfer of 16 MiB after `bytes`, 20 s after the one
  // before. Returns the number of attempts until it is Unavailable.
  int AttemptsOf(uint64_t bytes) {
    constexpr uint64_t kSize = uint64_t{16} << 20;
    const auto transfer =
        Transfer::Range(kUrl, {0, kSize}, {kSize, 0, "\"v\""}, {}, options_);
    uint64_t got = 0;
    int attempts = 0;
    std::optional<absl::Time> next = now_;
    for (; next && got < kSize; got += bytes) {
      now_ = *next + absl::Seconds(20);
      transfer->BeginAttempt(now_);
      Head(*transfer, {"HTTP/1.1 206 x", "ETag: \"v\""});
      transfer->TakeHeaderLine(
          fmt::format("Content-Range: bytes {}-{}/{}", got, kSize - 1, kSize),
          now_);
      EXPECT_TRUE(Body(*transfer, std::string(bytes, 'x')));
      ++attempts;
      next = transfer->EndAttempt(now_, cut_);
    }
    EXPECT_TRUE(absl::IsUnavailable(transfer->WaitForEnd()));
    return attempts;
  }
  static std::string Text(const Transfer& transfer, size_t size) {
    std::string text(size, ' ');
    transfer.CopyTo(0, std::as_writable_bytes(std::span(text)));
    return text;
  }

  HttpOptions options_;
  absl::Time now_ = absl::UnixEpoch();
  std::string reason_;
  const AttemptEnd answered_{};
  const AttemptEnd cut_{AttemptEnd::Kind::kCut, "reset by peer"};
};

TEST_F(TransferTest, ARepeatAsksForTheBytesThatAreMissing) {
  const auto transfer = Range(10, 6);
  EXPECT_EQ(transfer->BeginAttempt(now_), "10-15");
  EXPECT_EQ(transfer->Condition(), "If-Match: \"v\"");
  HeadOfRange(*transfer, 10, 16);
  EXPECT_TRUE(Body(*transfer, "abcd"));
  EXPECT_TRUE(transfer->Wait(4).ok());
  const auto next = transfer->EndAttempt(now_, cut_);
  ASSERT_TRUE(next);
  EXPECT_GT(*next, now_);
  EXPECT_EQ(transfer->BeginAttempt(*next), "14-15");
  HeadOfRange(*transfer, 14, 15);  // shorter than requested, but valid
  EXPECT_TRUE(Body(*transfer, "e"));
  ASSERT_TRUE(transfer->EndAttempt(now_, answered_));
  EXPECT_EQ(transfer->BeginAttempt(*next), "15-15");
  HeadOfRange(*transfer, 15, 16);
  EXPECT_TRUE(Body(*transfer, "f"));
  EXPECT_FALSE(transfer->EndAttempt(now_, answered_));
  EXPECT_TRUE(transfer->WaitForEnd().ok());
  EXPECT_EQ(Text(*transfer, 6), "abcdef");
}

TEST_F(TransferTest, OtherBytesThanAskedForAreNeverTaken) {
  const auto transfer = Range(10, 6);
  const std::pair<int, int> ranges[] = {{9, 15}, {11, 16}, {10, 17}, {0, 6}};
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(transfer->BeginAttempt(now_), "10-15");
    HeadOfRange(*transfer, begin, end);
    EXPECT_FALSE(Body(*transfer, "xxxxxx"));
    EXPECT_TRUE(transfer->EndAttempt(now_, cut_));
  }
  // Contradicting lengths.
  transfer->BeginAttempt(now_);
  HeadOfRange(*transfer, 10, 16);
  Head(*transfer, {"Content-Length: 7"});
  EXPECT_FALSE(Body(*transfer, "x"));
  EXPECT_TRUE(transfer->EndAttempt(now_, cut_));
  // More bytes than the answer announced.
  transfer->BeginAttempt(now_);
  HeadOfRange(*transfer, 10, 16);
  EXPECT_FALSE(Body(*transfer, "abcdefg"));
  EXPECT_FALSE(transfer->EndAttempt(now_, cut_));
  EXPECT_TRUE(absl::IsUnavailable(transfer->WaitForEnd()));
}

TEST_F(TransferTest, AnotherVersionIsAnErrorThatNamesTheFile) {
  for (const char* etag : {"\"w\"", "W/\"v\"", ""}) {
    const auto transfer = Range(0, 4);
    transfer->BeginAttempt(now_);
    HeadOfRange(*transfer, 0, 4, etag);
    EXPECT_FALSE(Body(*transfer, "abcd"));
    EXPECT_FALSE(transfer->EndAttempt(now_, cut_));
    EXPECT_TRUE(absl::IsFailedPrecondition(transfer->WaitForEnd()));
    EXPECT_THAT(ErrorText(transfer->WaitForEnd()),
                HasSubstr("http://h/a: changed since the job began"));
  }
  for (const char* status : {"HTTP/1.1 412 x", "HTTP/1.1 416 x"}) {
    const auto transfer = Range(0, 4);
    transfer->BeginAttempt(now_);
    Head(*transfer, {status});
    EXPECT_FALSE(transfer->EndAttempt(now_, answered_));
    EXPECT_THAT(ErrorText(transfer->WaitForEnd()), HasSubstr("changed since"));
  }
}

TEST_F(TransferTest, AWeakEtagThatChangesIsAnotherVersion) {
  const char* const time = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";
  const FileIdentity by_time{100, 784111777'000'000'000};
  for (const FileIdentity& known :
       {by_time, FileIdentity{100, 0, "W/\"a\""}, FileIdentity{100}}) {
    const auto range = Transfer::Range(kUrl, {0, 10}, known, {}, options_);
    for (const char* const etag : {"ETag: W/\"a\"", "ETag: W/\"b\""}) {
      range->BeginAttempt(now_);
      Head(*range, {"HTTP/1.1 206 x", etag});
      if (known.mtime_ns != 0) Head(*range, {time});
      range->TakeHeaderLine(etag[9] == 'a' ? "Content-Range: bytes 0-9/100"
                                           : "Content-Range: bytes 5-9/100",
                            now_);
      EXPECT_EQ(Body(*range, "12345"), etag[9] == 'a');
      EXPECT_EQ(range->EndAttempt(now_, cut_).has_value(), etag[9] == 'a');
    }
    EXPECT_THAT(ErrorText(range->WaitForEnd()), HasSubstr("changed since"));
  }
}

TEST_F(TransferTest, ACodingThatIsNotDecodedIsAnError) {
  for (const char* const status : {"HTTP/1.1 200 x", "HTTP/1.1 206 x"}) {
    const auto range = Range(0, 10);
    range->BeginAttempt(now_);
    Head(*range, {status, "Content-Range: bytes 0-9/100", "ETag: \"v\"",
                  "Content-Encoding: br"});
    EXPECT_FALSE(Body(*range, "0123456789"));
    EXPECT_FALSE(range->EndAttempt(now_, cut_));
    EXPECT_THAT(ErrorText(range->WaitForEnd()),
                HasSubstr("Content-Encoding: br"));
  }
}

TEST_F(TransferTest, AnObjectThatItsStoreDecompressesIsNamedAsSuch) {
  const auto whole = Transfer::Whole(kUrl, kVersion, options_);
  whole->BeginAttempt(now_);
  Head(*whole, {"HTTP/1.1 200 x", "Content-Length: 4", "ETag: \"v\"",
                "x-goog-stored-content-encoding: gzip"});
  EXPECT_TRUE(Body(*whole, "abcd"));
  EXPECT_FALSE(whole->EndAttempt(now_, answered_));
  EXPECT_THAT(ErrorText(whole->WaitForEnd()),
              HasSubstr("--clear-content-encoding"));
}

TEST_F(TransferTest, AStoreMayCallARefusalPassing) {
  class Maker final : public RequestMaker {
   public:
    absl::Status Prepare() const override { return absl::OkStatus(); }
    StoreRequest Make() const override { return {}; }
    absl::Status Refusal(const ResponseHead&,
                         std::string_view body) const override {
      if (body == "late") return Unavailable("the store answers late");
      return FailedPrecondition("refused: {}", body);
    }
  };
  const auto range = Transfer::Range({"s3://b/k", std::make_shared<Maker>()},
                                     {0, 10}, kVersion, {}, options_);
  const auto answer = [&](const std::string& body) {
    range->BeginAttempt(now_);
    Head(*range, {"HTTP/1.1 400 x"});
    EXPECT_TRUE(Body(*range, body));
    return range->EndAttempt(now_, answered_).has_value();
  };
  EXPECT_TRUE(answer("late"));
  EXPECT_TRUE(answer("late"));
  EXPECT_FALSE(answer("no"));
  EXPECT_THAT(ErrorText(range->WaitForEnd()), HasSubstr("refused: no"));
}

TEST_F(TransferTest, PassingErrorsAreRepeatedAsLongAsPatienceLasts) {
  const auto transfer = Range(0, 4);
  const absl::Time begin = now_;
  int attempts = 0;
  std::optional<absl::Time> next = now_;
  for (; next; ++attempts) {
    now_ = *next;
    transfer->BeginAttempt(now_);
    Head(*transfer, {"HTTP/1.1 503 x"});
    EXPECT_TRUE(Body(*transfer, "the reason"));
    next = transfer->EndAttempt(now_, answered_);
  }
  EXPECT_GT(attempts, 8);
  EXPECT_LE(now_ - begin, options_.patience);
  EXPECT_GE(now_ - begin, options_.patience / 2);
  const absl::Status status = transfer->WaitForEnd();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("http://h/a: no answer of use"));
  EXPECT_THAT(ErrorText(status), HasSubstr("the server answers 503"));
}

TEST_F(TransferTest, BytesRenewPatienceUpToTheBound) {
  const absl::Time begin = now_;
  EXPECT_GT(AttemptsOf(16 << 10), 20);
  EXPECT_LE(now_ - begin, options_.request_limit + absl::Seconds(30));
}

TEST_F(TransferTest, FewBytesInEachAttemptDoNotRenewPatience) {
  const absl::Time begin = now_;
  EXPECT_GT(AttemptsOf(1000), 1);
  EXPECT_LE(now_ - begin, options_.patience + absl::Seconds(30));
}

TEST_F(TransferTest, AnyServerIsGivenUpWithinPatience) {
  // Plays a server that never ends an answer, and sends a header line each
  // `pause` if it `answers`. Returns the time until the transfer is given up.
  const auto time_until_given_up = [&](bool answers, absl::Duration pause) {
    const auto transfer = Range(0, 100);
    const absl::Time begin = now_;
    for (std::optional<absl::Time> next = now_; next;) {
      now_ = *next;
      transfer->BeginAttempt(now_);
      if (answers) HeadOfRange(*transfer, 0, 100);
      while (answers && now_ + pause < transfer->aborts_at()) {
        now_ += pause;
        Head(*transfer, {"X-Still: here"});
      }
      now_ = transfer->aborts_at();
      next = transfer->EndAttempt(
          now_, {AttemptEnd::Kind::kCut, transfer->AbortReason(now_)});
    }
    EXPECT_TRUE(absl::IsUnavailable(transfer->WaitForEnd()));
    reason_ = ErrorText(transfer->WaitForEnd());
    return now_ - begin;
  };
  EXPECT_LE(time_until_given_up(false, {}), options_.patience);
  EXPECT_THAT(reason_, HasSubstr("no byte came for "));
  EXPECT_LE(time_until_given_up(true, absl::Seconds(1)), options_.patience);
  EXPECT_THAT(reason_, HasSubstr("fewer than 16384 bytes came in 1m"));
  options_.patience = absl::Seconds(1);
  EXPECT_LE(time_until_given_up(false, {}), options_.patience);
  EXPECT_THAT(reason_, HasSubstr("no byte came for 1s"));
}

TEST_F(TransferTest, AnAttemptThatThePatienceCutsDoesNotHideTheReason) {
  options_.patience = absl::Seconds(2);
  const auto transfer = Range(0, 100);
  for (int refused = 0; refused < 3; ++refused) {
    transfer->BeginAttempt(now_);
    Head(*transfer, {"HTTP/1.1 503 x"});
    const auto next = transfer->EndAttempt(now_, answered_);
    ASSERT_TRUE(next);
    now_ = *next;
  }
  transfer->BeginAttempt(now_);
  now_ = transfer->aborts_at();
  EXPECT_FALSE(transfer->EndAttempt(
      now_, {AttemptEnd::Kind::kCut, transfer->AbortReason(now_)}));
  EXPECT_THAT(ErrorText(transfer->WaitForEnd()),
              HasSubstr("the server answers 503"));
}

TEST_F(TransferTest, BytesOfABodyRenewPatienceOnce) {
  const auto transfer = Transfer::Whole(kUrl, std::nullopt, options_);
  transfer->BeginAttempt(now_);
  for (uint64_t sent = 16 << 10; sent <= 100 << 10; sent += 16 << 10) {
    now_ += absl::Seconds(14);
    EXPECT_GT(transfer->aborts_at(), now_);
    transfer->TakeSent(sent, now_);
  }
  const absl::Time last = now_;
  while (const auto next = transfer->EndAttempt(now_, cut_)) {
    now_ = *next + absl::Seconds(5);
    transfer->BeginAttempt(now_);
    transfer->TakeSent(16 << 10, now_);
  }
  EXPECT_LE(now_ - last, options_.patience + absl::Seconds(5));
}

TEST_F(TransferTest, TheSameBytesOfAWholeFileDoNotRenewPatience) {
  const auto transfer = Transfer::Whole(kUrl, std::nullopt, options_);
  const absl::Time begin = now_;
  std::optional<absl::Time> next = now_;
  for (int k = 0; next && k < 100; ++k) {
    now_ = *next + absl::Seconds(10);
    transfer->BeginAttempt(now_);
    Head(*transfer, {"HTTP/1.1 200 x", "Content-Length: 100000"});
    EXPECT_TRUE(Body(*transfer, std::string(50'000, 'x')));
    next = transfer->EndAttempt(now_, cut_);
  }
  EXPECT_LE(now_ - begin, options_.patience + absl::Seconds(40));
  EXPECT_TRUE(absl::IsUnavailable(transfer->WaitForEnd()));
}

TEST_F(TransferTest, RetryAfterIsHonoured) {
  const auto transfer = Range(0, 4);
  transfer->BeginAttempt(now_);
  Head(*transfer, {"HTTP/1.1 429 x", "Retry-After: 7"});
  EXPECT_EQ(transfer->EndAttempt(now_, answered_), now_ + absl::Seconds(7));
  transfer->BeginAttempt(now_);
  Head(*transfer, {"HTTP/1.1 503 x", "Retry-After: 3600"});
  EXPECT_FALSE(transfer->EndAttempt(now_, answered_));
  EXPECT_THAT(ErrorText(transfer->WaitForEnd()), HasSubstr("to wait 1h"));
}

TEST_F(TransferTest, AServerThatCannotBeReachedIsGivenUpSooner) {
  const auto transfer = Range(0, 4);
  const AttemptEnd end{AttemptEnd::Kind::kUnreachable, "no such host"};
  const absl::Time begin = now_;
  for (std::optional<absl::Time> next = now_; next;) {
    now_ = *next;
    transfer->BeginAttempt(now_);
    next = transfer->EndAttempt(now_, end);
  }
  EXPECT_LE(now_ - begin, options_.unreachable_patience);
  EXPECT_THAT(ErrorText(transfer->WaitForEnd()), HasSubstr("no such host"));
}

TEST_F(TransferTest, ARefusalIsNotRepeated) {
  const auto transfer = Range(0, 4);
  transfer->BeginAttempt(now_);
  Head(*transfer, {"HTTP/1.1 403 x"});
  EXPECT_FALSE(Body(*transfer, "no"));
  EXPECT_FALSE(transfer->EndAttempt(now_, cut_));
  EXPECT_TRUE(absl::IsFailedPrecondition(transfer->WaitForEnd()));
}

TEST_F(TransferTest, AcceptedOfAWebServerIsNoFile) {
  const auto transfer = Transfer::Whole(kUrl, std::nullopt, options_);
  transfer->BeginAttempt(now_);
  Head(*transfer, {"HTTP/1.1 202 x"});
  EXPECT_FALSE(Body(*transfer, "wait"));
  EXPECT_FALSE(transfer->EndAttempt(now_, cut_));
  EXPECT_TRUE(absl::IsFailedPrecondition(transfer->WaitForEnd()));
}

TEST_F(TransferTest, AProbeLearnsSizeAndVersion) {
  const auto probe = Transfer::Probe(kUrl, options_);
  EXPECT_EQ(probe->BeginAttempt(now_), "0-15");
  EXPECT_EQ(probe->Condition(), "");
  HeadOfRange(*probe, 0, 16);
  EXPECT_TRUE(Body(*probe, "0123456"));
  EXPECT_TRUE(probe->EndAttempt(now_, cut_));
  EXPECT_EQ(probe->BeginAttempt(now_), "0-15");
  HeadOfRange(*probe, 0, 4);  // a server may send less
  EXPECT_TRUE(Body(*probe, "0123"));
  EXPECT_FALSE(probe->EndAttempt(now_, answered_));
  EXPECT_TRUE(probe->WaitForEnd().ok());
  EXPECT_EQ(probe->answer(), 206);
  EXPECT_EQ(probe->identity(), kVersion);
  EXPECT_EQ(probe->TakeFirst(), "0123");
}

TEST_F(TransferTest, AServerWithoutRangesIsNoticedWithoutItsBytes) {
  const auto probe = Transfer::Probe(kUrl, options_);
  probe->BeginAttempt(now_);
  Head(*probe, {"HTTP/1.1 200 x", "Content-Length: 100"});
  EXPECT_FALSE(Body(*probe, "abc"));
  EXPECT_FALSE(probe->EndAttempt(now_, cut_));
  EXPECT_TRUE(probe->WaitForEnd().ok());
  EXPECT_EQ(probe->answer(), 200);

  const auto range = Range(10, 6);
  range->BeginAttempt(now_);
  Head(*range, {"HTTP/1.1 200 x", "Content-Length: 100"});
  EXPECT_FALSE(Body(*range, "abc"));
  EXPECT_FALSE(range->EndAttempt(now_, cut_));
  EXPECT_FALSE(range->WaitForEnd().ok());
  EXPECT_TRUE(range->no_ranges());
}

TEST_F(TransferTest, AWholeFileIsBoundedAndComplete) {
  options_.whole_bytes_max = 8;
  const auto whole = Transfer::Whole(kUrl, std::nullopt, options_);
  EXPECT_EQ(whole->BeginAttempt(now_), "");
  Head(*whole, {"HTTP/1.1 200 x", "Content-Length: 4", "ETag: \"v\""});
  EXPECT_TRUE(Body(*whole, "ab"));
  // starts again from the beginning
  EXPECT_TRUE(whole->EndAttempt(now_, cut_));
  whole->BeginAttempt(now_);
  Head(*whole, {"HTTP/1.1 200 x", "Content-Length: 4", "ETag: \"v\""});
  EXPECT_TRUE(Body(*whole, "abcd"));
  EXPECT_FALSE(whole->EndAttempt(now_, answered_));
  EXPECT_TRUE(whole->WaitForEnd().ok());
  EXPECT_EQ(whole->identity(), (FileIdentity{4, 0, "\"v\""}));
  EXPECT_EQ(whole->TakeWhole().size(), 4u);

  const auto large = Transfer::Whole(kUrl, std::nullopt, options_);
  large->BeginAttempt(now_);
  Head(*large, {"HTTP/1.1 200 x"});  // without a length
  EXPECT_FALSE(Body(*large, "123456789"));
  EXPECT_FALSE(large->EndAttempt(now_, cut_));
  EXPECT_THAT(ErrorText(large->WaitForEnd()), HasSubstr("has no ranges"));
}

TEST_F(TransferTest, AnAbandonedTransferWritesNothing) {
  std::vector<std::byte> into(4, std::byte{'-'});
  const auto transfer = Transfer::Range(kUrl, {0, 4}, kVersion, into, options_);
  transfer->BeginAttempt(now_);
  HeadOfRange(*transfer, 0, 4);
  EXPECT_TRUE(Body(*transfer, "a"));
  transfer->Abandon();
  EXPECT_FALSE(Body(*transfer, "b"));
  EXPECT_EQ(into[1], std::byte{'-'});
  EXPECT_FALSE(transfer->EndAttempt(now_, cut_));
  EXPECT_TRUE(absl::IsCancelled(transfer->WaitForEnd()));
}

TEST_F(TransferTest, WaitsEndWhenReadingIsStopped) {
  const std::atomic<bool> stopped = true;
  const ReadStop stop(stopped);
  EXPECT_TRUE(absl::IsCancelled(Range(0, 4)->WaitForEnd()));
}

}  // namespace
}  // namespace feedmill
