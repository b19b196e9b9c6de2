#include "broker/outbox.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

namespace feedmill {
namespace {

ClientAnswer AnswerOf(uint64_t awaited) {
  ClientAnswer answer;
  answer.awaited = awaited;
  return answer;
}

TEST(Outbox, LastAnswersComeAfterAllOthersAndReplaceEachOther) {
  Outbox outbox;
  outbox.SendLast(PeerId("rank"), AnswerOf(1));
  outbox.SendLast(PeerId("rank"), AnswerOf(2));
  outbox.SendLast(PeerId("other"), AnswerOf(3));
  outbox.CancelSendLast(PeerId("other"));
  outbox.Send(PeerId("reader"), AnswerOf(0));
  const std::vector<Outgoing> sends = outbox.Take();
  ASSERT_EQ(sends.size(), 2);
  EXPECT_EQ(sends[0].to, PeerId("reader"));
  EXPECT_EQ(sends[1].to, PeerId("rank"));
  EXPECT_EQ(std::get<ClientAnswer>(sends[1].message).awaited, 2);
}

TEST(Outbox, EachPeerIsAnsweredOnce) {
  Outbox outbox;
  const SessionKey key{JobName("job"), ConsumerId("solo")};
  outbox.AnswerSession(key);
  outbox.AnswerSession(key);
  EXPECT_EQ(outbox.sessions().size(), 1);
  KnownWorker worker;
  outbox.AnswerWorker(WorkerId("w"));
  outbox.AnswerWorker(WorkerId("w"), &worker);
  outbox.AnswerWorker(WorkerId("w"));
  EXPECT_EQ(outbox.workers().at(WorkerId("w")), &worker);
  outbox.ForgetWorker(WorkerId("w"));
  EXPECT_TRUE(outbox.workers().empty());
  EXPECT_TRUE(outbox.Take().empty());
  EXPECT_TRUE(outbox.sessions().empty());
}

}  // namespace
}  // namespace feedmill
