// The dispatcher's events, encoded and in a work-dir.

#include "broker/state_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "broker/event_codec.h"
#include "core/base/status.h"
#include "core/storage/folder_journal.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const JobName kJob("photos");
const JobName kShared("shared");
const SessionKey kSolo{kJob, ConsumerId("solo")};
const SessionKey kSharer{kShared, ConsumerId("reader-1")};
const SessionKey kOther{kShared, ConsumerId("reader-2")};

SplitId Split(uint64_t number) { return {JournalId(77), number}; }
Cursor At(uint64_t p, uint64_t i = 0) { return {p, i}; }

// Returns events of every kind; each follows from those before it.
std::vector<DispatcherEvent> Life() {
  constexpr uint64_t kLarge = ~uint64_t{0};
  return {
      JobCreated{kJob, "the graph", "f1", Order::kDeterministic, kLarge},
      RunStarted{kJob, RunNumber(1), 0},
      RunSequenced{kJob},
      ManifestKnown{kJob, std::string("files\0", 6)},
      SessionOpened{kSolo, Incarnation(1'700'000'000'000'000'000), At(0)},
      RunPlanned{kJob, 100, kLarge, 10, PlanId("p1"), 0},
      SplitsBound{Split(0), kSolo, At(0), At(20), 10},
      SplitsBound{Split(2), kSolo, At(20), At(40), 20},
      SplitsTaken{{{Split(0), At(10), At(7, 2)}, {Split(1), At(11), At(10)}}},
      SplitsEnded{{{Split(0), 1}}},
      SplitFailed{Split(2), InvalidArgument("x / 0 at {}", 21)},
      JobCreated{kShared, "another graph", "f2", Order::kAny, 3},
      ManifestKnown{kShared, ""},
      RunStarted{kShared, RunNumber(4), 3},
      SessionOpened{kSharer, Incarnation(5), At(0)},
      RunExtended{kShared, 2, false},
      RunPlanned{kShared, 25, 50, 10, PlanId("p2"), 2},
      RunExtended{kShared, 3, false},
      RunExtended{kShared, 3, true},
      SplitsBound{Split(3), kSharer, At(0), At(17), 10},
      SplitsTaken{{{Split(3), At(10), At(4)}}},
      SessionClosed{kSharer, true},
      SessionOpened{kOther, Incarnation(6), At(0)},
      SplitsBound{Split(5), kOther, At(4), At(10), 10},
      ReaderSilent{kOther, 3},
      EndingNoted{kShared, RunEnding::kCancelled},
      RunFinished{kShared, false},
      RankFinished{kSolo, Incarnation(1'600'000'000'000'000'000), 0,
                   RunNumber(1)},
      JobCreated{JobName("bad"), "g", "f3", Order::kAny, 1},
      RunStarted{JobName("bad"), RunNumber(1), 0},
      RunFailed{JobName("bad"), NotFound("no files match 'x'")},
      JobForgotten{JobName("bad")},
      DatasetRegistered{"photos", "the graph of photos"},
      ScaleNoted{{.decided = true,
                  .wanted = 5,
                  .floor_workers = 4,
                  .floor_low_milli = 3'500,
                  .floor_until_s = 1'600'000'000,
                  .floor_hold_s = 3'600,
                  .jobs = {{"photos", 1'800, 4'250, 480'000, 1'600'000'100}}}},
  };
}

DispatcherState Replay(const std::vector<DispatcherEvent>& events) {
  DispatcherState state;
  state.journal = JournalId(77);
  for (const DispatcherEvent& event : events) {
    EXPECT_TRUE(CheckFollows(state, event).ok()) << Describe(event);
    state.Apply(event);
  }
  return state;
}

// ---- bytes

TEST(EventCodec, EveryEventComesBackAsItWas) {
  std::vector<DispatcherEvent> back;
  std::set<size_t> kinds;
  for (const DispatcherEvent& event : Life()) {
    const std::string bytes = EncodeEvent(event);
    const auto decoded = DecodeEvent(bytes);
    ASSERT_TRUE(decoded.ok()) << Describe(event) << decoded.status();
    EXPECT_EQ(Describe(*decoded), Describe(event));
    EXPECT_EQ(EncodeEvent(*decoded), bytes);
    kinds.insert(event.index());
    back.push_back(*decoded);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<DispatcherEvent>);
  EXPECT_EQ(Replay(back), Replay(Life()));
}

// The format of version 10: a change makes every journal unreadable.
TEST(EventCodec, TheBytesStayTheSame) {
  EXPECT_EQ(EncodeEvent(SplitsBound{Split(300), kSolo, At(1, 3), At(9), 5}),
            std::string("\x0a\x05\x4d\xac\x02\x06photos\x04solo"
                        "\x01\x03\x09\x00\x05",
                        22));
  EXPECT_EQ(EncodeEvent(SessionOpened{kSolo, Incarnation(7), At(2), {1, 3}}),
            std::string("\x0a\x04\x06photos\x04solo\x07\x02\x00\x01\x03", 19));
  EXPECT_EQ(EncodeEvent(RunFailed{kJob, NotFound("no")}),
            std::string("\x0a\x0a\x06photos\x05\x02no", 13));
  EXPECT_EQ(EncodeEvent(RunExtended{kJob, 300, true}),
            std::string("\x0a\x0d\x06photos\xac\x02\x01", 12));
}

// A journal of the previous release is readable.
TEST(EventCodec, Version7IsRead) {
  for (const bool complete : {false, true}) {
    std::string bytes = EncodeEvent(RunFinished{kJob, complete});
    bytes[0] = '\x07';
    const auto event = DecodeEvent(bytes);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(std::get<RunFinished>(*event).complete, complete);
  }
}

TEST(EventCodec, StatesOfEarlierVersionsAreRead) {
  DispatcherState state = Replay(Life());
  state.datasets.clear();
  state.scale = {};
  state.jobs.at(kShared).sessions.at(kOther.consumer).silence = 0;
  state.jobs.at(kJob).sequenced = false;
  const std::string bytes = EncodeState(state);
  // Seven zeros of the autoscaler's findings, and the number of datasets.
  const std::pair<char, size_t> shorter[] = {{7, 8}, {8, 8}, {9, 7}};
  for (const auto& [version, lacks] : shorter) {
    std::string earlier = bytes.substr(0, bytes.size() - lacks);
    earlier[0] = version;
    const auto back = DecodeState(earlier);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, state);
  }
}

TEST(EventCodec, ShortenedAndLengthenedBytesAreRefused) {
  for (const DispatcherEvent& event : Life()) {
    const std::string bytes = EncodeEvent(event);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_TRUE(absl::IsDataLoss(
          DecodeEvent(std::string_view(bytes).substr(0, size)).status()))
          << Describe(event) << " cut to " << size;
    }
    EXPECT_TRUE(absl::IsDataLoss(DecodeEvent(bytes + '\0').status()));
  }
}

TEST(EventCodec, RefusesUnknownVersionsAndKinds) {
  EXPECT_THAT(
      ErrorText(DecodeEvent("\x02\x01").status()),
      HasSubstr("it has version 2 of an older release, and this release "
                "reads versions 7 to 12"));
  EXPECT_THAT(ErrorText(DecodeEvent("\x0d\x01").status()),
              HasSubstr("it has version 13 of a newer release"));
  EXPECT_THAT(ErrorText(DecodeEvent("\x09\x63").status()),
              HasSubstr("kind 99"));
  EXPECT_FALSE(DecodeEvent("").ok());
}

TEST(StateCodec, TheStateComesBackAsItWas) {
  std::vector<DispatcherEvent> events;
  for (const DispatcherEvent& event : Life()) {
    events.push_back(event);
    const DispatcherState state = Replay(events);
    const auto back = DecodeState(EncodeState(state));
    ASSERT_TRUE(back.ok()) << Describe(event) << back.status();
    EXPECT_EQ(*back, state) << Describe(event);
  }
}

TEST(StateCodec, AnUnsoundStateIsRefused) {
  const DispatcherState good = Replay(Life());
  DispatcherState state = good;
  state.splits.erase(Split(1));
  EXPECT_FALSE(DecodeState(EncodeState(state)).ok());
  state = good;
  state.jobs.at(kJob).sessions.at(kSolo.consumer).splits.erase(Split(1));
  EXPECT_FALSE(DecodeState(EncodeState(state)).ok());
  state = good;
  state.splits.at(Split(1)).owner = kSharer;
  EXPECT_FALSE(DecodeState(EncodeState(state)).ok());
  state = good;
  state.idle_jobs.emplace(3, JobName("nobody"));
  EXPECT_FALSE(DecodeState(EncodeState(state)).ok());
}

TEST(CheckFollows, SaysWhatIsNotThere) {
  const DispatcherState state = Replay(Life());
  for (const DispatcherEvent& event : std::vector<DispatcherEvent>{
           JobCreated{kJob, "", "", Order::kAny, 0},
           RunStarted{JobName("x"), RunNumber(1), 0},
           ManifestKnown{JobName("x"), ""},
           RunPlanned{JobName("x"), 1, 1, 1, PlanId("p"), 0},
           RunPlanned{kJob, 10, 10, 1, PlanId("p"), 3},
           RunPlanned{kJob, 10, 20'000, 1, PlanId("p"), 20'000},
           RunExtended{JobName("x"), 1, true},
           RunExtended{kJob, 2, false},
           RunExtended{kShared, 4, false},
           RankFinished{{JobName("x"), kSolo.consumer}, Incarnation(1), 0, {}},
           RankFinished{kSolo, Incarnation(1), 1, RunNumber(1)},
           RankFinished{kSharer, Incarnation(1), 0, RunNumber(1)},
           SessionOpened{{JobName("x"), ConsumerId("y")}, Incarnation(1), {}},
           SplitsBound{Split(9), kSharer, At(0), At(1), 1},
           SplitsBound{Split(0), kSolo, At(0), At(2), 1},
           SplitsBound{Split(9), kSolo, At(0), At(1), 0},
           SplitsBound{Split(9), kSolo, At(1), At(1), 1},
           SplitsBound{Split(9), kSolo, At(0), At(1, 1), 1},
           SplitsBound{Split(9), kSolo, At(0), At(1'000'000), 1},
           SplitsBound{Split(~uint64_t{0}), kSolo, At(0), At(2), 1},
           SplitsBound{Split(9), kOther, At(10), At(17), 7},
           SplitsTaken{{{Split(9), At(0), At(0)}}},
           SplitFailed{Split(9), absl::OkStatus()},
           SplitsEnded{{{Split(9), 1}}},
           SplitsEnded{{{Split(1), 2}, {Split(2), 1}}},
           SplitsEnded{{{Split(1), ~uint64_t{0}}}},
           SplitsEnded{{{Split(1), 0}}},
           SessionClosed{kSharer, true},
           RunFailed{JobName("x"), absl::OkStatus()},
           RunFinished{JobName("x"), true},
           EndingNoted{JobName("x"), RunEnding::kLeft},
           DatasetRegistered{"photos", "another graph"},
           JobForgotten{JobName("x")}}) {
    EXPECT_TRUE(absl::IsDataLoss(CheckFollows(state, event)))
        << Describe(event);
  }
}

// ---- a work-dir

class StateJournalTest : public ::testing::Test {
 protected:
  StateJournalTest() {
    std::string path =
        (fs::temp_directory_path() / "feedmill-state-XXXXXX").string();
    folder_ = mkdtemp(path.data());
  }
  ~StateJournalTest() override { fs::remove_all(folder_); }

  std::unique_ptr<StateJournal> MustOpen() const {
    auto journal = StateJournal::Open(folder_);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }

  std::string folder_;
};

TEST_F(StateJournalTest, ANewOneIsEmptyAndHasAnId) {
  const DispatcherState state = MustOpen()->TakeState();
  EXPECT_NE(state.journal.value(), 0U);
  EXPECT_EQ(state.sequence, 0U);
  EXPECT_EQ(MustOpen()->TakeState(), state);
}

TEST_F(StateJournalTest, ReplayGivesTheState) {
  auto journal = MustOpen();
  DispatcherState state = journal->TakeState();
  for (const DispatcherEvent& event : Life()) state.Apply(event);
  ASSERT_TRUE(journal->Append(Life()).ok());
  EXPECT_EQ(journal->sequence(), state.sequence);
  journal.reset();
  EXPECT_EQ(MustOpen()->TakeState(), state);
}

TEST_F(StateJournalTest, ReplayGivesTheStateAfterCompaction) {
  auto journal = MustOpen();
  DispatcherState state = journal->TakeState();
  const auto commit = [&](std::vector<DispatcherEvent> events) {
    for (const DispatcherEvent& event : events) state.Apply(event);
    ASSERT_TRUE(journal->Append(events).ok());
    if (journal->WorthCompacting(state.splits.size())) {
      ASSERT_TRUE(journal->Compact(state).ok());
    }
  };
  commit(Life());
  // Several times enough to be worth compacting.
  for (uint64_t k = 0; k < 20; ++k) {
    commit({ManifestKnown{kJob, std::string(1'000'000, 'a')},
            ManifestKnown{kJob, "small"}});
  }
  commit({SplitsBound{Split(10), kSolo, At(40), At(50), 10}});
  EXPECT_LT(fs::file_size(folder_ + "/journal.db"), 16U << 20);
  journal.reset();
  EXPECT_EQ(MustOpen()->TakeState(), state);
}

// Otherwise a restart would read all obsolete content.
TEST_F(StateJournalTest, ASnapshotOfWhatIsGoneIsReplaced) {
  auto journal = MustOpen();
  DispatcherState state = journal->TakeState();
  const auto commit = [&](std::vector<DispatcherEvent> events) {
    for (const DispatcherEvent& event : events) state.Apply(event);
    ASSERT_TRUE(journal->Append(events).ok());
    if (journal->WorthCompacting(state.splits.size())) {
      ASSERT_TRUE(journal->Compact(state).ok());
    }
  };
  commit(Life());
  for (uint64_t k = 0; k < 4; ++k) {
    commit({SplitsBound{Split(10 + 8'000 * k), kSolo, At(40 + 8'000 * k),
                        At(8'040 + 8'000 * k), 1}});
  }
  commit({ManifestKnown{kJob, std::string(5'000'000, 'a')},
          ManifestKnown{kJob, "small"}});
  commit({SessionClosed{kSolo, true}});
  journal.reset();
  {
    const auto plain = FolderJournal::Open(folder_);
    ASSERT_TRUE(plain.ok());
    ASSERT_TRUE((*plain)->content().snapshot.has_value());
    EXPECT_LT((*plain)->content().snapshot->size(), 2'000);
  }
  EXPECT_EQ(MustOpen()->TakeState(), state);
}

TEST_F(StateJournalTest, EventsThatDoNotFollowAreRefused) {
  auto journal = MustOpen();
  const std::vector<DispatcherEvent> events = {SplitsEnded{{{Split(3), 1}}}};
  ASSERT_TRUE(journal->Append(events).ok());
  journal.reset();
  const absl::Status status = StateJournal::Open(folder_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("event 1: there is no split 3"));
}

TEST_F(StateJournalTest, ACopyIsTheSameState) {
  auto journal = MustOpen();
  DispatcherState state = journal->TakeState();
  for (const DispatcherEvent& event : Life()) state.Apply(event);
  const std::string to = folder_ + "/copy";
  ASSERT_TRUE(journal->Append(Life()).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CopyState(folder_, to)));  // is led
  journal.reset();
  ASSERT_TRUE(CopyState(folder_, to).ok());
  auto copy = StateJournal::Open(to).value();
  EXPECT_EQ(copy->TakeState(), state);
  const DispatcherEvent next =
      SplitsBound{Split(10), kSolo, At(40), At(50), 10};
  ASSERT_TRUE(copy->Append({&next, 1}).ok());
  copy.reset();
  state.Apply(next);
  EXPECT_EQ(StateJournal::Open(to).value()->TakeState(), state);
  const absl::Status again = CopyState(folder_, to);
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
  EXPECT_THAT(ErrorText(again), HasSubstr("has state already"));
  EXPECT_TRUE(absl::IsNotFound(CopyState(folder_ + "/none", to)));
  EXPECT_FALSE(fs::exists(folder_ + "/none"));
}

TEST_F(StateJournalTest, AUrlIsRefusedWithAdvice) {
  const absl::Status status = StateJournal::Open("ftp://db/feedmill").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("ftp://db/feedmill"));
  EXPECT_THAT(ErrorText(status), HasSubstr("s3://"));
}

}  // namespace
}  // namespace feedmill
