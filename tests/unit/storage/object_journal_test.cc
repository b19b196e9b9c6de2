// A journal in a store in memory, whose answers are lost and whose objects are
// damaged, and the writers that follow each other.

#include "core/storage/object_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFolder[] = "s3://bucket/state";

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(const std::string& name, std::string bytes)
      : RandomAccessFile(name), bytes_(std::move(bytes)) {}
  absl::StatusOr<FileIdentity> Identity() const override {
    FileIdentity identity;
    identity.size = bytes_.size();
    return identity;
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    const size_t size = std::min<size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes_.data()) + offset,
                size, out.begin());
    return size;
  }
  void Prefetch(std::span<const ByteRange>) const override {}

 private:
  const std::string bytes_;
};

class MemoryStore final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    const auto found = objects.find(name);
    if (found == objects.end()) return NotFound("{}: no such object", name);
    return std::make_unique<MemoryFile>(name, found->second);
  }
  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return NotFound("{}", name);
  }
  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    std::vector<Entry> entries;
    for (const auto& [name, bytes] : objects) {
      if (!name.starts_with(folder + "/")) continue;
      entries.push_back({name.substr(folder.size() + 1), false, {}});
    }
    if (entries.empty()) return NotFound("{}: no such folder", folder);
    return entries;
  }
  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override {
    if (!down.ok()) return down;
    objects[name] = bytes;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override {
    if (!down.ok()) return down;
    if (!conditions) {
      objects[name] = bytes;
      return true;
    }
    const bool made = objects.try_emplace(name, bytes).second;
    return made && !lost;
  }
  absl::Status Remove(const std::string& name) const override {
    objects.erase(name);
    return absl::OkStatus();
  }

  size_t Count(std::string_view kind) const {
    return static_cast<size_t>(
        std::ranges::count_if(objects, [&](const auto& object) {
          return object.first.find(kind) != std::string::npos;
        }));
  }
  std::string& At(std::string_view kind) const {
    const auto found = std::ranges::find_if(objects, [&](const auto& object) {
      return object.first.find(kind) != std::string::npos;
    });
    return found->second;
  }

  mutable std::map<std::string, std::string> objects;
  bool conditions = true;
  bool lost = false;  // the answers to puts that made an object
  absl::Status down;
};

class ObjectJournalTest : public ::testing::Test {
 protected:
  ObjectJournal::Options Options(bool wait = false) {
    ObjectJournal::Options options;
    options.wait = wait;
    options.stop = [this] { return stop_; };
    options.now = [this] { return now_; };
    options.sleep = [this](absl::Duration time) {
      now_ += time;
      slept_ += time;
      if (while_waiting_) while_waiting_();
    };
    return options;
  }
  absl::StatusOr<std::unique_ptr<ObjectJournal>> Open(bool wait = false) {
    return ObjectJournal::Open(store_, kFolder, Options(wait));
  }
  std::unique_ptr<ObjectJournal> MustOpen() {
    auto journal = Open();
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  static void MustAppend(Journal& journal,
                         const std::vector<std::string>& events) {
    const absl::Status status = journal.Append(events);
    EXPECT_TRUE(status.ok()) << status;
  }
  // Ends the process of a writer: it says nothing any more.
  void Kill(std::unique_ptr<ObjectJournal> journal) {
    store_.down = Unavailable("killed");
    journal.reset();
    store_.down = absl::OkStatus();
  }
  void ExpectDataLoss(const std::string& what) {
    const absl::Status status = Open().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(what));
    EXPECT_THAT(ErrorText(status), HasSubstr(kFolder));
  }

  MemoryStore store_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Duration slept_;
  bool stop_ = false;
  std::function<void()> while_waiting_;
};

TEST_F(ObjectJournalTest, GivesBackWhatWasAppended) {
  auto journal = MustOpen();
  const uint64_t id = journal->id();
  EXPECT_NE(id, 0U);
  MustAppend(*journal, {"a", "", std::string("b\0c", 3)});
  MustAppend(*journal, {});
  MustAppend(*journal, {"d"});
  EXPECT_EQ(journal->sequence(), 4U);
  journal.reset();
  journal = MustOpen();
  EXPECT_EQ(slept_, absl::ZeroDuration()) << "it was released";
  EXPECT_EQ(journal->id(), id);
  EXPECT_EQ(journal->sequence(), 4U);
  EXPECT_THAT(journal->content().events,
              ElementsAre("a", "", std::string("b\0c", 3), "d"));
  MustAppend(*journal, {"e"});
  EXPECT_EQ(journal->sequence(), 5U);
}

TEST_F(ObjectJournalTest, AnActiveWriterIsNamed) {
  auto journal = MustOpen();
  ASSERT_TRUE(journal->SayAddress("tcp://one:5050").ok());
  while_waiting_ = [&] { EXPECT_TRUE(journal->Tick().ok()); };
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("tcp://one:5050"));
  EXPECT_LE(slept_, absl::Seconds(4));
  MustAppend(*journal, {"a"});
}

TEST_F(ObjectJournalTest, AKilledWriterIsReplacedWithinSeconds) {
  auto first = MustOpen();
  MustAppend(*first, {"a", "b"});
  Kill(std::move(first));
  const auto second = MustOpen();
  EXPECT_THAT(second->content().events, ElementsAre("a", "b"));
  EXPECT_LE(slept_, absl::Seconds(8));
}

TEST_F(ObjectJournalTest, AWriterThatStoodStillIsFenced) {
  auto first = MustOpen();
  MustAppend(*first, {"a"});
  const auto second = MustOpen();  // the first gave no sign
  ASSERT_TRUE(second->SayAddress("tcp://two:1").ok());
  const absl::Status status = first->Append(std::vector<std::string>{"lost"});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("tcp://two:1"));
  EXPECT_EQ(first->Append(std::vector<std::string>{"lost"}), status);
  EXPECT_EQ(first->Tick(), status);
  MustAppend(*second, {"b"});
  first.reset();  // does not release what it does not lead
  while_waiting_ = [&] { EXPECT_TRUE(second->Tick().ok()); };
  EXPECT_TRUE(absl::IsFailedPrecondition(Open().status()));
}

TEST_F(ObjectJournalTest, AFencedWriterNoticesWithoutAnEvent) {
  const auto first = MustOpen();
  const auto second = MustOpen();
  now_ += absl::Seconds(3);
  EXPECT_TRUE(absl::IsFailedPrecondition(first->Tick()));
  EXPECT_TRUE(second->Tick().ok());
}

TEST_F(ObjectJournalTest, AWriterIsCertainUntilOthersMayBegin) {
  const auto first = MustOpen();
  EXPECT_GT(first->certain_for(), absl::Seconds(6));
  now_ += absl::Seconds(3);
  EXPECT_TRUE(first->Tick().ok());
  EXPECT_GT(first->certain_for(), absl::Seconds(6));
  EXPECT_EQ(store_.Count("segment"), 1U);
  now_ += absl::Seconds(6.5);
  EXPECT_EQ(first->certain_for(), absl::ZeroDuration());
  // Another one may have decided before this heartbeat. It needs the number of
  // this segment.
  EXPECT_TRUE(first->Tick().ok());
  EXPECT_GT(first->certain_for(), absl::Seconds(6));
  EXPECT_EQ(store_.Count("segment"), 2U);
  const auto second = MustOpen();
  EXPECT_EQ(first->certain_for(), absl::ZeroDuration());
  EXPECT_TRUE(absl::IsFailedPrecondition(first->Tick()));
  EXPECT_EQ(first->certain_for(), absl::ZeroDuration());
  EXPECT_GT(second->certain_for(), absl::Seconds(6));
}

TEST_F(ObjectJournalTest, AFencedWriterStaysFencedAfterACompaction) {
  const auto first = MustOpen();
  MustAppend(*first, {"a"});
  const auto second = MustOpen();
  for (int k = 0; k < 5; ++k) MustAppend(*second, {"b"});
  ASSERT_TRUE(second->Compact("state").ok());
  for (int k = 0; k < 5; ++k) {
    now_ += absl::Seconds(3);
    EXPECT_TRUE(second->Tick().ok());
  }
  EXPECT_EQ(store_.Count("segment"), 2U) << "the heads of both terms";
  EXPECT_TRUE(absl::IsFailedPrecondition(
      first->Append(std::vector<std::string>{"lost"})));
}

TEST_F(ObjectJournalTest, ALostAnswerIsNoOtherWriter) {
  store_.lost = true;
  const auto probe = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(probe.status()));
  store_.lost = false;
  auto journal = MustOpen();
  store_.lost = true;
  MustAppend(*journal, {"a"});
  MustAppend(*journal, {"b"});
  store_.lost = false;
  journal.reset();
  EXPECT_THAT(MustOpen()->content().events, ElementsAre("a", "b"));
}

TEST_F(ObjectJournalTest, AStandbyWaitsForTheWriter) {
  auto first = MustOpen();
  MustAppend(*first, {"a"});
  int waits = 0;
  while_waiting_ = [&] {
    if (first == nullptr) return;
    EXPECT_TRUE(first->Tick().ok());
    if (++waits % 10 == 0) MustAppend(*first, {"more"});
    if (waits == 35) Kill(std::move(first));
  };
  auto second = Open(/*wait=*/true);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT((*second)->content().events,
              ElementsAre("a", "more", "more", "more"));
  EXPECT_LE(slept_, absl::Seconds(35 + 8));
}

// It reads while it waits, and the writer sees how much.
TEST_F(ObjectJournalTest, AStandbyFollowsTheWriter) {
  auto first = MustOpen();
  MustAppend(*first, {"a", "b"});
  ASSERT_TRUE(first->Compact("ab").ok());
  std::vector<std::string> followed;
  std::optional<Standby> seen;
  int waits = 0;
  while_waiting_ = [&] {
    if (first == nullptr) return;
    ++waits;
    EXPECT_TRUE(first->Tick().ok());
    if (!first->standbys()->empty()) seen = first->standbys()->front();
    if (waits % 40 == 0 && waits <= 200) MustAppend(*first, {"more"});
    if (waits == 120) {
      EXPECT_TRUE(first->Compact("later").ok());
    }
    if (waits == 400) Kill(std::move(first));
  };
  ObjectJournal::Options options = Options(/*wait=*/true);
  options.follow = [&](const Journal& journal) {
    if (journal.content().whole) followed = {*journal.content().snapshot};
    for (const auto& event : journal.content().events) {
      followed.push_back(event);
    }
    return absl::OkStatus();
  };
  const auto second = ObjectJournal::Open(store_, kFolder, options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(followed, ElementsAre("later", "more", "more"));
  EXPECT_THAT((*second)->content().events, IsEmpty()) << "all was read before";
  EXPECT_FALSE((*second)->content().whole);
  EXPECT_EQ((*second)->sequence(), 7U);
  ASSERT_TRUE(seen.has_value());
  EXPECT_THAT(seen->name, HasSubstr("process"));
  EXPECT_EQ(seen->sequence, 7U);
  EXPECT_EQ(store_.Count("standby"), 0U);
}

// The folder is deleted while the standby waits.
TEST_F(ObjectJournalTest, AStandbyNoticesAnotherJournal) {
  auto writer = MustOpen();
  MustAppend(*writer, {"a", "b"});
  std::vector<std::string> followed;
  int waits = 0;
  while_waiting_ = [&] {
    if (writer == nullptr) return;
    EXPECT_TRUE(writer->Tick().ok());
    if (++waits == 50) {
      Kill(std::move(writer));
      store_.objects.clear();
      writer = MustOpen();
      MustAppend(*writer, {"x"});
    }
    if (waits == 100) Kill(std::move(writer));
  };
  ObjectJournal::Options options = Options(/*wait=*/true);
  options.follow = [&](const Journal& journal) {
    if (journal.content().whole) followed.clear();
    for (const auto& event : journal.content().events) {
      followed.push_back(event);
    }
    return absl::OkStatus();
  };
  const auto second = ObjectJournal::Open(store_, kFolder, options);
  ASSERT_TRUE(second.ok()) << second.status();
  if ((*second)->content().whole) followed = (*second)->content().events;
  EXPECT_THAT(followed, ElementsAre("x"));
  EXPECT_EQ((*second)->sequence(), 1U);
}

TEST_F(ObjectJournalTest, AStandbyThatWasKilledIsForgotten) {
  auto first = MustOpen();
  std::map<std::string, std::string> killed;
  while_waiting_ = [&] {
    EXPECT_TRUE(first->Tick().ok());
    if (store_.Count("standby") > 0) killed = store_.objects;
    stop_ = slept_ > absl::Minutes(1);
  };
  EXPECT_TRUE(absl::IsCancelled(Open(/*wait=*/true).status()));
  EXPECT_EQ(store_.Count("standby"), 0U);
  std::erase_if(killed, [](const auto& object) {
    return object.first.find("standby") == std::string::npos;
  });
  store_.objects.merge(killed);
  now_ += absl::Seconds(20);
  EXPECT_TRUE(first->Tick().ok());
  EXPECT_EQ(first->standbys()->size(), 1U);
  for (int k = 0; k < 30; ++k) {
    now_ += absl::Seconds(3);
    EXPECT_TRUE(first->Tick().ok());
  }
  EXPECT_THAT(*first->standbys(), IsEmpty());
  EXPECT_EQ(store_.Count("standby"), 0U);
}

TEST_F(ObjectJournalTest, AStandbyThatDoesNotUnderstandEnds) {
  auto first = MustOpen();
  MustAppend(*first, {"a"});
  while_waiting_ = [&] { EXPECT_TRUE(first->Tick().ok()); };
  ObjectJournal::Options options = Options(/*wait=*/true);
  options.follow = [](const Journal&) { return FailedPrecondition("later"); };
  const auto second = ObjectJournal::Open(store_, kFolder, options);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
}

TEST_F(ObjectJournalTest, AStandbyCanBeStopped) {
  auto first = MustOpen();
  while_waiting_ = [&] {
    EXPECT_TRUE(first->Tick().ok());
    stop_ = slept_ > absl::Minutes(1);
  };
  EXPECT_TRUE(absl::IsCancelled(Open(/*wait=*/true).status()));
}

TEST_F(ObjectJournalTest, ASnapshotStandsForTheSegmentsBeforeIt) {
  auto journal = MustOpen();
  MustAppend(*journal, {"a", "b"});
  ASSERT_TRUE(journal->Compact("ab").ok());
  MustAppend(*journal, {"c"});
  journal.reset();
  journal = MustOpen();
  EXPECT_EQ(journal->content().snapshot, "ab");
  EXPECT_EQ(journal->content().snapshot_sequence, 2U);
  EXPECT_THAT(journal->content().events, ElementsAre("c"));
  EXPECT_EQ(journal->sequence(), 3U);
  ASSERT_TRUE(journal->Compact("abc").ok());
  ASSERT_TRUE(journal->Tick().ok());
  EXPECT_EQ(store_.Count("snapshot"), 1U);
  journal.reset();
  journal = MustOpen();
  EXPECT_EQ(journal->content().snapshot, "abc");
  EXPECT_THAT(journal->content().events, IsEmpty());
}

TEST_F(ObjectJournalTest, PutsKeepTheirRate) {
  const auto journal = MustOpen();
  for (int k = 0; k < 200; ++k) MustAppend(*journal, {"a"});
  const double rate = 200 / absl::ToDoubleSeconds(slept_);
  EXPECT_LT(rate, 2);
  EXPECT_GT(rate, 1.5);
}

TEST_F(ObjectJournalTest, DamageIsNoticed) {
  auto journal = MustOpen();
  for (const char* event : {"a", "b", "c"}) MustAppend(*journal, {event});
  journal.reset();
  const auto whole = store_.objects;
  for (const auto& [name, bytes] : whole) {
    if (name.find("segment") == std::string::npos) continue;
    for (size_t at = 0; at < bytes.size(); ++at) {
      store_.objects = whole;
      char& byte = store_.objects[name][at];
      byte = static_cast<char>(byte ^ 0x10);
      ExpectDataLoss("is damaged");
    }
    store_.objects = whole;
    store_.objects.erase(name);
    ExpectDataLoss("missing");
  }
}

TEST_F(ObjectJournalTest, ADamagedSnapshotIsNoticed) {
  auto journal = MustOpen();
  MustAppend(*journal, {"a"});
  ASSERT_TRUE(journal->Compact("state").ok());
  journal.reset();
  store_.At("snapshot")[20] ^= 1;
  ExpectDataLoss("is damaged");
}

TEST_F(ObjectJournalTest, AStoreWithoutConditionsIsRefused) {
  store_.conditions = false;
  const absl::Status status = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("If-None-Match"));
}

TEST_F(ObjectJournalTest, NothingIsAppendedAfterAnError) {
  auto journal = MustOpen();
  MustAppend(*journal, {"a"});
  store_.down = Unavailable("503");
  EXPECT_TRUE(
      absl::IsUnavailable(journal->Append(std::vector<std::string>{"b"})));
  store_.down = absl::OkStatus();
  EXPECT_TRUE(
      absl::IsUnavailable(journal->Append(std::vector<std::string>{"c"})));
  journal.reset();
  EXPECT_THAT(MustOpen()->content().events, ElementsAre("a"));
}

}  // namespace
}  // namespace feedmill
