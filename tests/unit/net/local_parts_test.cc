#include "core/net/local_parts.h"

#include <sys/socket.h>

#include <random>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/net/shared_file.h"
#include "gmock/gmock.h"
#include "tests/unit/net/buffers.h"

namespace feedmill {
namespace {

class LocalPartsTest : public ::testing::Test {
 protected:
  LocalPartsTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    here_ = OwnedFd(ends[0]);
    there_ = OwnedFd(ends[1]);
  }
  bool Send(uint64_t after, const std::vector<Buffer>& parts) {
    return SendPartsLocally(here_.get(), after, parts);
  }
  absl::StatusOr<LocalParts> Receive() {
    return ReceivePartsLocally(there_.get());
  }
  void SendRaw(std::string_view bytes) {
    ASSERT_EQ(send(here_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  OwnedFd here_;
  OwnedFd there_;
};

TEST_F(LocalPartsTest, ArriveUnchanged) {
  std::mt19937 random(1);
  for (size_t count : {1u, 2u, 3u, 63u, 64u}) {
    std::vector<std::string> texts(count);
    std::vector<Buffer> parts;
    for (std::string& text : texts) {
      text.assign(random() % 500, static_cast<char>(random()));
      parts.push_back(TextPart(text));
    }
    ASSERT_TRUE(Send(count, parts));
    const auto came = Receive();
    ASSERT_TRUE(came.ok()) << came.status();
    EXPECT_EQ(came->after, count);
    EXPECT_EQ(Texts(came->parts), texts);
  }
  const auto none = Receive();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->parts.empty());
}

TEST_F(LocalPartsTest, RefusesToSendLargeMessages) {
  EXPECT_FALSE(Send(0, {}));
  EXPECT_FALSE(Send(0, std::vector<Buffer>(kLocalPartsMax + 1)));
  const std::string half(kLocalBytesMax / 2, 'x');
  EXPECT_TRUE(Send(0, {TextPart(half), TextPart(half)}));
  EXPECT_FALSE(Send(0, {TextPart(half), TextPart(half), TextPart("x")}));
  const auto came = Receive();
  ASSERT_TRUE(came.ok()) << came.status();
  EXPECT_EQ(Texts(came->parts), (std::vector{half, half}));
}

TEST_F(LocalPartsTest, NeverWaitsForAPeerThatDoesNotRead) {
  const std::vector<Buffer> parts{TextPart(std::string(10'000, 'x'))};
  int sent = 0;
  while (Send(0, parts)) ++sent;
  EXPECT_GT(sent, 1);
  for (int k = 0; k < sent; ++k) EXPECT_EQ(Receive()->parts.size(), 1u);
  EXPECT_TRUE(Send(0, parts));
}

TEST_F(LocalPartsTest, ReportsTheEndOfThePeer) {
  ASSERT_TRUE(Send(0, {TextPart("last")}));
  here_ = OwnedFd();
  EXPECT_EQ(Texts(Receive()->parts), std::vector<std::string>{"last"});
  EXPECT_TRUE(absl::IsUnavailable(Receive().status()));
  EXPECT_FALSE(SendPartsLocally(there_.get(), 0, std::vector{TextPart("x")}));
}

// A message of two parts, shortened, extended or with changed numbers.
TEST_F(LocalPartsTest, NoiseIsRefused) {
  ASSERT_TRUE(Send(1, {TextPart("12345"), TextPart("abcdefgh")}));
  char buffer[256];
  const ssize_t size = recv(there_.get(), buffer, sizeof(buffer), 0);
  ASSERT_EQ(size, 24 + 8 + 8);
  const std::string whole(buffer, static_cast<size_t>(size));
  for (size_t keep = 1; keep < whole.size(); ++keep) {
    SendRaw(whole.substr(0, keep));
    EXPECT_TRUE(absl::IsInvalidArgument(Receive().status())) << keep;
  }
  SendRaw(whole + "x");
  EXPECT_TRUE(absl::IsInvalidArgument(Receive().status()));
  SendRaw(std::string(size_t{40} << 10, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(Receive().status()));
  for (size_t k = 8; k < 20; ++k) {  // the count and the sizes
    for (const int change : {0x40, 0x80}) {
      std::string wrong = whole;
      wrong[k] = static_cast<char>(wrong[k] ^ change);
      SendRaw(wrong);
      EXPECT_TRUE(absl::IsInvalidArgument(Receive().status())) << k;
    }
  }
}

}  // namespace
}  // namespace feedmill
