// A journal, and all kinds of damage to its files.

#include "core/storage/folder_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/storage/standby_file.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FolderJournalTest : public ::testing::Test {
 protected:
  FolderJournalTest() {
    std::string path =
        (fs::temp_directory_path() / "feedmill-journal-XXXXXX").string();
    base_ = mkdtemp(path.data());
  }
  ~FolderJournalTest() override { fs::remove_all(base_); }

  std::string Folder(const std::string& name = "work") const {
    return (base_ / name).string();
  }
  std::string File(const std::string& name) const {
    return Folder() + "/" + name;
  }
  // Copies the folder's present content, like a crash would leave it.
  void CopyTo(const std::string& name) const {
    fs::remove_all(Folder(name));
    fs::copy(Folder(), Folder(name));
  }
  static std::unique_ptr<FolderJournal> MustOpen(const std::string& folder) {
    auto journal = FolderJournal::Open(folder);
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  std::unique_ptr<FolderJournal> Given(
      const std::vector<std::string>& events) const {
    auto journal = MustOpen(Folder());
    for (const std::string& event : events) MustAppend(*journal, {event});
    return journal;
  }
  static void MustAppend(Journal& journal, std::vector<std::string> events) {
    const absl::Status status = journal.Append(events);
    EXPECT_TRUE(status.ok()) << status;
  }
  static std::vector<std::string> EventsIn(const std::string& folder) {
    const auto journal = MustOpen(folder);
    return journal == nullptr ? std::vector<std::string>{}
                              : journal->content().events;
  }
  void ExpectDataLoss(const std::string& what,
                      const std::string& folder = "work") const {
    const absl::Status status = FolderJournal::Open(Folder(folder)).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(what));
    EXPECT_THAT(ErrorText(status), HasSubstr(Folder(folder)));
    EXPECT_THAT(ErrorText(status), HasSubstr("or delete it"));
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  static void Flip(const std::string& path, size_t offset) {
    std::string bytes = Read(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    Write(path, bytes);
  }
  // Changes the database without the journal's knowledge.
  void Sql(const std::string& sql) const {
    auto database = SqliteDatabase::Open(File("journal.db"));
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status status = (*database)->Run(sql);
    ASSERT_TRUE(status.ok()) << status;
  }

  fs::path base_;
};

TEST_F(FolderJournalTest, GivesBackWhatWasAppended) {
  auto journal = Given({"a", "", std::string("b\0c", 3)});
  EXPECT_EQ(journal->sequence(), 3U);
  const uint64_t id = journal->id();
  EXPECT_NE(id, 0U);
  MustAppend(*journal, {"d", "e"});
  MustAppend(*journal, {});
  journal.reset();
  journal = MustOpen(Folder());
  EXPECT_EQ(journal->id(), id);
  EXPECT_EQ(journal->sequence(), 5U);
  EXPECT_THAT(journal->content().events,
              ElementsAre("a", "", std::string("b\0c", 3), "d", "e"));
  MustAppend(*journal, {"f"});
  EXPECT_EQ(journal->sequence(), 6U);
}

TEST_F(FolderJournalTest, EachHasItsOwnId) {
  EXPECT_NE(MustOpen(Folder("one"))->id(), MustOpen(Folder("two"))->id());
}

TEST_F(FolderJournalTest, KeepsWhatWasAppendedThroughACrash) {
  const auto journal = Given({"a", "b"});
  CopyTo("crashed");
  EXPECT_THAT(EventsIn(Folder("crashed")), ElementsAre("a", "b"));
}

TEST_F(FolderJournalTest, ACommitThatWasCutShortIsUndone) {
  auto journal = Given({"a", "b"});
  const std::string seal = Read(File("journal.seal"));
  MustAppend(*journal, {std::string(10'000, 'c')});
  CopyTo("torn");
  const std::string log = Folder("torn") + "/journal.db-wal";
  Write(Folder("torn") + "/journal.seal", seal);
  fs::resize_file(log, fs::file_size(log) - 100);
  journal = MustOpen(Folder("torn"));
  EXPECT_THAT(journal->content().events, ElementsAre("a", "b"));
  MustAppend(*journal, {"d"});
  journal.reset();
  EXPECT_THAT(EventsIn(Folder("torn")), ElementsAre("a", "b", "d"));
}

TEST_F(FolderJournalTest, ACutLogIsNoticed) {
  const auto journal = Given({"a", "b", "c"});
  CopyTo("cut");
  const std::string log = Folder("cut") + "/journal.db-wal";
  fs::resize_file(log, fs::file_size(log) - 100);
  ExpectDataLoss("ends at event 2, and events 3 to 3 are missing", "cut");
  CopyTo("cut");
  fs::remove(log);
  ExpectDataLoss("journal.db is gone or empty, with all 3 events", "cut");
}

TEST_F(FolderJournalTest, AFlippedByteInTheLogIsNoticed) {
  const auto journal = Given({"a", "b", "c"});
  CopyTo("flipped");
  const std::string log = Folder("flipped") + "/journal.db-wal";
  Flip(log, fs::file_size(log) - 10);
  ExpectDataLoss("ends at event 2", "flipped");
}

TEST_F(FolderJournalTest, ADamagedJournalIsLeftAsItIs) {
  const auto journal = Given({"a", "b", "c"});
  CopyTo("cut");
  const std::string log = Folder("cut") + "/journal.db-wal";
  fs::resize_file(log, fs::file_size(log) - 100);
  const std::string bytes = Read(log);
  for (int time = 0; time < 2; ++time) ExpectDataLoss("3 to 3", "cut");
  EXPECT_EQ(Read(log), bytes);
}

TEST_F(FolderJournalTest, AFlippedByteOfAnEventIsNoticed) {
  Given({"first event", "second event", "third event"}).reset();
  Flip(File("journal.db"), Read(File("journal.db")).find("second event"));
  ExpectDataLoss("event 2 does not have its checksum");
}

// Most bytes of the file are unused; the others must not be trusted if they
// change.
TEST_F(FolderJournalTest, NoFlippedByteGoesUnnoticed) {
  Given({"first event", "second event", "third event"}).reset();
  const std::string path = File("journal.db");
  const std::string good = Read(path);
  const std::string seal = Read(File("journal.seal"));
  for (size_t offset = 0; offset < good.size(); offset += 97) {
    Flip(path, offset);
    const auto journal = FolderJournal::Open(Folder());
    if (journal.ok()) {
      EXPECT_THAT((*journal)->content().events,
                  ElementsAre("first event", "second event", "third event"))
          << offset;
    }
    Write(path, good);
    Write(File("journal.seal"), seal);
    fs::remove(File("journal.db-wal"));
  }
}

TEST_F(FolderJournalTest, AWriterWaitsForTheOneBeforeIt) {
  auto first = Given({"a"});
  int asked = 0;
  const auto second =
      FolderJournal::Open(Folder(), {.wait = true, .stop = [&] {
                                       MustAppend(*first, {"b"});
                                       if (++asked == 2) first.reset();
                                       return asked > 2;
                                     }});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT((*second)->content().events, ElementsAre("a", "b", "b"));
  const auto third = FolderJournal::Open(
      Folder(), {.wait = true, .stop = [] { return true; }});
  EXPECT_TRUE(absl::IsCancelled(third.status())) << third.status();
}

TEST_F(FolderJournalTest, AWriterSeesItsStandby) {
  auto first = Given({"a"});
  EXPECT_TRUE(first->Tick().ok());
  EXPECT_TRUE(first->standbys()->empty());
  std::vector<Standby> seen;
  int asked = 0;
  const auto second = FolderJournal::Open(Folder(), {.wait = true, .stop = [&] {
                                                       if (++asked == 1)
                                                         return false;
                                                       seen =
                                                           StandbysOf(Folder());
                                                       first.reset();
                                                       return asked > 9;
                                                     }});
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_THAT(seen[0].name, HasSubstr("process"));
  EXPECT_FALSE(seen[0].sequence.has_value());
  // One that was killed does not lock its file.
  Write(File("standby-7"), "process 7 on host");
  EXPECT_TRUE((*second)->Tick().ok());
  EXPECT_TRUE((*second)->standbys()->empty());
  EXPECT_FALSE(fs::exists(File("standby-7")));
}

// A folder that was deleted meanwhile has another lock.
TEST_F(FolderJournalTest, AWriterThatWaitsTakesTheLockThatIsThere) {
  auto first = Given({"a"});
  std::unique_ptr<FolderJournal> other;
  int asked = 0;
  const auto second =
      FolderJournal::Open(Folder(), {.wait = true, .stop = [&] {
                                       if (++asked == 1) {
                                         fs::remove_all(Folder());
                                         other = Given({"x"});
                                         first.reset();
                                       }
                                       return asked == 3;
                                     }});
  EXPECT_TRUE(absl::IsCancelled(second.status())) << second.status();
}

TEST_F(FolderJournalTest, AGapIsNoticed) {
  Given({"a", "b", "c"}).reset();
  Sql("DELETE FROM events WHERE sequence = 2");
  ExpectDataLoss("event 2 is missing: 3 comes after 1");
}

TEST_F(FolderJournalTest, AShortenedJournalIsNoticed) {
  Given({"a", "b", "c"}).reset();
  Sql("DELETE FROM events WHERE sequence > 1");
  ExpectDataLoss("ends at event 1, and events 2 to 3 are missing");
}

TEST_F(FolderJournalTest, AShortenedFileIsNoticed) {
  Given({"a", std::string(20'000, 'b'), "c"}).reset();
  const std::string path = File("journal.db");
  fs::resize_file(path, fs::file_size(path) / 2);
  ExpectDataLoss("journal.db");
  Write(path, "");
  ExpectDataLoss("journal.db is gone or empty, with all 3 events");
  fs::remove(path);
  ExpectDataLoss("journal.db is gone or empty, with all 3 events");
}

TEST_F(FolderJournalTest, AnOlderCopyPutBackIsNoticed) {
  Given({"a", "b"}).reset();
  const std::string old = Read(File("journal.db"));
  Given({"c", "d"}).reset();
  Write(File("journal.db"), old);
  ExpectDataLoss("ends at event 2, and events 3 to 4 are missing");
}

TEST_F(FolderJournalTest, AnotherJournalPutInItsPlaceIsNoticed) {
  Given({"a", "b"}).reset();
  MustAppend(*MustOpen(Folder("other")), {"a", "b"});
  fs::copy_file(Folder("other") + "/journal.db", File("journal.db"),
                fs::copy_options::overwrite_existing);
  ExpectDataLoss("of different journals");
}

TEST_F(FolderJournalTest, ALostSealIsNoticed) {
  Given({"a"}).reset();
  Write(File("journal.seal"), "nonsense");
  ExpectDataLoss("journal.seal");
  fs::remove(File("journal.seal"));
  ExpectDataLoss("journal.seal is gone");
}

// After a power failure the journal is synced, the seal is not.
TEST_F(FolderJournalTest, ASealThatIsBehindIsAccepted) {
  auto journal = Given({"a"});
  const std::string seal = Read(File("journal.seal"));
  MustAppend(*journal, {"b"});
  journal.reset();
  Write(File("journal.seal"), seal);
  EXPECT_THAT(EventsIn(Folder()), ElementsAre("a", "b"));
}

TEST_F(FolderJournalTest, ATornSealHasAnOlderCopy) {
  Given({"a", "b", "c"}).reset();
  std::string seal = Read(File("journal.seal"));
  // Copies are at 0 and 4096. Four marks were written, so the last is in the
  // second.
  seal[4'096 + 20] = static_cast<char>(seal[4'096 + 20] ^ 1);
  Write(File("journal.seal"), seal);
  EXPECT_THAT(EventsIn(Folder()), ElementsAre("a", "b", "c"));
}

TEST_F(FolderJournalTest, ACrashWhileItIsMadeIsNoLoss) {
  MustOpen(Folder()).reset();
  fs::remove(File("journal.seal"));
  EXPECT_THAT(EventsIn(Folder()), IsEmpty());
  MustAppend(*MustOpen(Folder()), {"a"});
  EXPECT_THAT(EventsIn(Folder()), ElementsAre("a"));
}

TEST_F(FolderJournalTest, AnotherFormatIsRefused) {
  Given({"a"}).reset();
  Sql("UPDATE about SET format = 9");
  const absl::Status status = FolderJournal::Open(Folder()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("format 9"));
}

TEST_F(FolderJournalTest, ASnapshotStandsForTheEventsBeforeIt) {
  auto journal = Given({"a", "b"});
  ASSERT_TRUE(journal->Compact("a and b").ok());
  EXPECT_EQ(journal->sequence(), 2U);
  MustAppend(*journal, {"c"});
  CopyTo("crashed");
  journal.reset();
  for (const std::string folder : {"work", "crashed"}) {
    journal = MustOpen(Folder(folder));
    EXPECT_EQ(journal->sequence(), 3U);
    EXPECT_EQ(journal->content().snapshot_sequence, 2U);
    EXPECT_EQ(journal->content().snapshot, "a and b");
    EXPECT_THAT(journal->content().events, ElementsAre("c"));
  }
}

TEST_F(FolderJournalTest, ADamagedSnapshotIsNoticed) {
  auto journal = Given({"a", "b"});
  ASSERT_TRUE(journal->Compact("a and b").ok());
  MustAppend(*journal, {"c"});
  journal.reset();
  const std::string path = File("journal.db");
  const std::string good = Read(path);
  Flip(path, good.find("a and b"));
  ExpectDataLoss("snapshot of the first 2 events");
  Write(path, good);
  Sql("DELETE FROM snapshot");
  ExpectDataLoss("event 1 is missing");
}

TEST_F(FolderJournalTest, GrowsNoMoreThanItsSnapshots) {
  auto journal = MustOpen(Folder());
  const std::string event(100'000, 'x');
  uintmax_t largest = 0;
  int compactions = 0;
  for (int round = 0; round < 200; ++round) {
    MustAppend(*journal, {event});
    if (journal->worth_compacting()) {
      ASSERT_TRUE(journal->Compact("small").ok());
      ++compactions;
    }
    uintmax_t size = 0;
    for (const auto& entry : fs::directory_iterator(Folder())) {
      size += entry.file_size();
    }
    largest = std::max(largest, size);
  }
  EXPECT_GE(compactions, 4);
  EXPECT_LT(largest, 16U << 20);  // 20 MB were appended
}

TEST_F(FolderJournalTest, OneProcessHasTheFolder) {
  auto first = Given({});
  ASSERT_TRUE(first->SayAddress("tcp://127.0.0.1:5050").ok());
  const absl::Status status = FolderJournal::Open(Folder()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr(std::to_string(getpid())));
  EXPECT_THAT(ErrorText(status), HasSubstr("tcp://127.0.0.1:5050"));
  first.reset();
  MustOpen(Folder());
}

TEST_F(FolderJournalTest, TheFolderIsFreeWhenItsProcessDies) {
  const pid_t child = fork();
  if (child == 0) {
    auto journal = FolderJournal::Open(Folder());
    const std::vector<std::string> events = {"a"};
    const bool ok = journal.ok() && (*journal)->Append(events).ok();
    _exit(ok ? 0 : 1);  // without closing anything
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(EventsIn(Folder()), ElementsAre("a"));
}

TEST_F(FolderJournalTest, IsForItsOwnAccountOnly) {
  const mode_t before = umask(022);
  const auto expect_private = [&] {
    for (const auto& entry : fs::directory_iterator(Folder())) {
      EXPECT_EQ(entry.status().permissions(),
                fs::perms::owner_read | fs::perms::owner_write)
          << entry.path();
    }
  };
  auto journal = Given({"a"});
  EXPECT_EQ(fs::status(Folder()).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::exists(File("journal.db-wal")));
  expect_private();
  // The files of an earlier release.
  CopyTo("copy");
  journal.reset();
  fs::remove_all(Folder());
  fs::rename(Folder("copy"), Folder());
  for (const auto& entry : fs::directory_iterator(Folder())) {
    fs::permissions(entry.path(), fs::perms(0644));
  }
  journal = MustOpen(Folder());
  MustAppend(*journal, {"b"});
  expect_private();
  // An operator's folder, and a group that may read, stay.
  journal.reset();
  fs::permissions(Folder(), fs::perms(0750));
  fs::permissions(File("journal.db"), fs::perms(0640));
  MustOpen(Folder());
  EXPECT_EQ(fs::status(Folder()).permissions(), fs::perms(0750));
  EXPECT_EQ(fs::status(File("journal.db")).permissions(), fs::perms(0640));
  umask(before);
}

TEST_F(FolderJournalTest, AFolderThatCannotBeIsAnError) {
  Write((base_ / "file").string(), "");
  const absl::Status status = FolderJournal::Open(Folder("file")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr(Folder("file")));
}

TEST_F(FolderJournalTest, NothingIsAppendedAfterAnError) {
  auto journal = Given({"a"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{size_t{64} << 10, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::string> events = {"b", std::string(1'000'000, 'x')};
  const absl::Status status = journal->Append(events);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(ErrorText(status), HasSubstr("cannot write the journal"));
  EXPECT_EQ(journal->Append(std::vector<std::string>{"c"}), status);
  EXPECT_EQ(journal->sequence(), 1U);
  journal.reset();
  EXPECT_THAT(EventsIn(Folder()), ElementsAre("a"));
}

}  // namespace
}  // namespace feedmill
