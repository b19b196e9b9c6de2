#include "broker/held_sends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Outgoing Answer(const std::string& to) { return {PeerId(to), WorkerAnswer{}}; }
Outgoing Status(const std::string& to) {
  return {PeerId(to), StatusReply{.json = "{}"}};
}

// The receivers of the messages that leave when `durable` events are on disk.
std::vector<std::string> Released(HeldSends& held, uint64_t durable) {
  std::vector<std::string> receivers;
  held.Release(durable, [&](const Outgoing& each) {
    receivers.push_back(each.to.value());
  });
  return receivers;
}

TEST(HeldSends, MessagesLeaveInOrderWhenTheirEventsAreOnDisk) {
  HeldSends held;
  held.Hold(3, {Answer("a"), Answer("b")});
  held.Hold(3, {Answer("a")});
  held.Hold(5, {Answer("c")});
  EXPECT_EQ(held.count(), 4);
  EXPECT_THAT(Released(held, 2), IsEmpty());
  EXPECT_THAT(Released(held, 4), ElementsAre("a", "b", "a"));
  EXPECT_THAT(Released(held, 5), ElementsAre("c"));
  EXPECT_EQ(held.count(), 0);
  EXPECT_EQ(held.bytes(), 0);
}

TEST(HeldSends, AnswersOfOperatorsWaitLikewise) {
  HeldSends held;
  bool answered = false;
  held.Hold(2, [&] { answered = true; });
  Released(held, 1);
  EXPECT_FALSE(answered);
  Released(held, 2);
  EXPECT_TRUE(answered);
}

TEST(HeldSends, AStatusPassesMessagesToOtherPeersOnly) {
  HeldSends held;
  held.Hold(2, {Answer("a")});
  held.Hold(2, {Status("operator"), Status("a")});
  EXPECT_THAT(Released(held, 1), ElementsAre("operator"));
  EXPECT_THAT(Released(held, 2), ElementsAre("a", "a"));
}

TEST(HeldSends, AStatusStaysBehindAMessageOfItsOwnCall) {
  HeldSends held;
  held.Hold(2, {Answer("a"), Status("a")});
  EXPECT_THAT(Released(held, 1), IsEmpty());
  EXPECT_THAT(Released(held, 2), ElementsAre("a", "a"));
}

TEST(HeldSends, CountsTheBytesOfDefinitions) {
  HeldSends held;
  WorkerAnswer answer;
  answer.definitions.emplace_back().manifest = std::string(1'000'000, 'x');
  held.Hold(1, {{PeerId("w"), std::move(answer)}});
  EXPECT_GT(held.bytes(), 1'000'000);
  held.Clear();
  EXPECT_EQ(held.bytes(), 0);
  EXPECT_THAT(Released(held, 9), IsEmpty());
}

}  // namespace
}  // namespace feedmill
