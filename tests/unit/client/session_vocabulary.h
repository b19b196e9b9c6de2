#ifndef FEEDMILL_TESTS_UNIT_CLIENT_SESSION_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_CLIENT_SESSION_VOCABULARY_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/read_session.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/delivery_vocabulary.h"

namespace feedmill {

using State = ReadSession::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakePiece;
using testing::Sent;
using ::testing::SizeIs;
using testing::ValuesOf;

inline const JobName kJob{"job"};
inline const WorkerId kWorker{"tcp://w:1"};

inline SplitId SplitNo(uint64_t number) { return {JournalId{1}, number}; }

// A session with room for 100 rows, 20 ahead in one split. The test plays its
// dispatcher, its workers and its application.
class SessionTest : public ::testing::Test {
 protected:
  explicit SessionTest(Order order = Order::kDeterministic)
      : session_(SettingsOf(order)) {}
  explicit SessionTest(ReadSessionSettings settings)
      : session_(std::move(settings)) {}

  static ReadSessionSettings SettingsOf(Order order) {
    ReadSessionSettings settings;
    settings.job = kJob;
    settings.graph = "graph";
    settings.order = order;
    settings.session = {ConsumerId{"me"}, Incarnation{3}};
    settings.budget_bytes = 800;
    settings.quota_bytes = 160;
    return settings;
  }

  void Keep(const ReadEffects& effects) {
    for (const Outgoing& outgoing : effects.sends) sends_.push_back(outgoing);
  }
  // All messages of that type since the last call.
  template <class T>
  std::vector<T> Said() {
    std::vector<T> said = Sent<T>(sends_);
    std::erase_if(sends_, [](const Outgoing& outgoing) {
      return std::holds_alternative<T>(outgoing.message);
    });
    return said;
  }
  void Tick(absl::Duration after = absl::ZeroDuration()) {
    now_ += after;
    Keep(session_.OnTick(now_));
  }
  // Ticks at each deadline until `duration` has passed.
  void Pass(absl::Duration duration) {
    const absl::Time end = now_ + duration;
    while (session_.NextDeadline() <= end) {
      now_ = std::max(now_, session_.NextDeadline());
      Keep(session_.OnTick(now_));
    }
    now_ = end;
  }

  BoundSplit Bound(uint64_t number, uint64_t begin, uint64_t end,
                   const std::vector<uint64_t>& attempts = {1}) {
    BoundSplit split{SplitNo(number), {begin, 0}, {end, 0}, {}, {}};
    for (uint64_t attempt : attempts) {
      split.leases.push_back({kWorker, Incarnation{7}, Attempt{attempt}});
    }
    return split;
  }
  ClientAnswer AnswerOf(std::vector<BoundSplit> splits) {
    ClientAnswer answer;
    answer.job = kJob;
    answer.session = session_.session();
    RunInfo run;
    run.run = RunNumber{1};
    run.seed = 11;
    run.positions = positions_;
    run.plan = PlanId{"plan"};
    run.passes = passes_;
    run.settled = settled_;
    answer.run = run;
    answer.splits = std::move(splits);
    answer.exhausted = exhausted_;
    answer.finished = finished_;
    answer.workers = 2;
    answer.heartbeat_interval = absl::Milliseconds(200);
    answer.client_timeout = absl::Seconds(10);
    return answer;
  }
  // The dispatcher answers the last heartbeat, if there was one.
  void Answer(std::vector<BoundSplit> splits) {
    ClientAnswer answer = AnswerOf(std::move(splits));
    const auto beats = Sent<ClientBeat>(sends_);
    if (!beats.empty()) answer.beat_sent = beats.back().sent;
    Keep(session_.Handle(now_, kDispatcherPeer, answer));
  }
  // Hello, answer, heartbeat, answer: the session is live and valid.
  void GivenSplits(const std::vector<BoundSplit>& splits) {
    Tick();
    Answer(splits);
    Tick();
    Answer(splits);
    EXPECT_TRUE(session_.MayHandOut(now_));
    Said<ClientHello>();
    Said<ClientBeat>();
  }
  void Reject(RejectReason reason, absl::Status detail = absl::OkStatus()) {
    Keep(session_.Handle(
        now_, kDispatcherPeer,
        ClientReject{kJob, session_.session(), reason, std::move(detail)}));
  }
  // The last grant for a split.
  Grant Granted(uint64_t number, uint64_t attempt = 1) {
    Grant last;
    for (const Grant& grant : Sent<Grant>(sends_)) {
      if (grant.split == SplitNo(number) && grant.attempt == Attempt{attempt}) {
        last = grant;
      }
    }
    return last;
  }
  void Receive(uint64_t number, Piece piece, uint64_t attempt = 1,
               uint64_t wire_bytes = 0) {
    Frame frame;
    frame.wire_bytes = wire_bytes;
    frame.session = session_.session();
    frame.split = SplitNo(number);
    frame.worker = kWorker;
    frame.worker_incarnation = Incarnation{7};
    frame.attempt = Attempt{attempt};
    frame.opening = Granted(number, attempt).opening;
    frame.piece = std::move(piece);
    Keep(session_.Handle(now_, PeerId{kWorker.value()}, frame));
  }
  std::optional<Piece> Pull() {
    ReadEffects effects;
    std::optional<Piece> piece = session_.Pull(now_, effects);
    Keep(effects);
    return piece;
  }
  // Returns the positions of all rows that can be pulled now.
  std::vector<int64_t> PullAll() {
    std::vector<int64_t> values;
    while (std::optional<Piece> piece = Pull()) {
      for (int64_t v : ValuesOf(*piece)) values.push_back(v / 1000);
    }
    return values;
  }
  // Returns the report on a split in the next heartbeat.
  std::optional<SplitReport> Reported(uint64_t number) {
    Said<ClientBeat>();
    Pass(absl::Milliseconds(200));
    const auto beats = Said<ClientBeat>();
    if (beats.empty()) return std::nullopt;
    for (const SplitReport& report : beats.back().splits) {
      if (report.split == SplitNo(number)) return report;
    }
    return std::nullopt;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Seconds(1000);
  uint64_t positions_ = 1000;
  uint64_t passes_ = 0;
  bool settled_ = true;
  bool exhausted_ = false;
  bool finished_ = false;
  ReadSession session_;
  std::vector<Outgoing> sends_;
};
using ReadSessionTest = SessionTest;
class SharedSessionTest : public SessionTest {
 protected:
  SharedSessionTest() : SessionTest(Order::kAny) {}
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_CLIENT_SESSION_VOCABULARY_H_
