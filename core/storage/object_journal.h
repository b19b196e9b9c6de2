#ifndef FEEDMILL_CORE_STORAGE_OBJECT_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_OBJECT_JOURNAL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/file_system.h"
#include "core/net/clock.h"
#include "core/storage/journal.h"
#include "core/storage/journal_chain.h"

namespace feedmill {

// A journal in a folder of an object store. tests/model/takeover.py is its
// model, and says why it is safe.
//
// Objects of the folder:
//
//   segment-N    events that follow each other. Made by a put that fails if the
//                object exists: who makes it is the writer
//   snapshot-N   the state after segments 1 to N, which are deleted then
//   beat-T       the heartbeat of term T, which its writer replaces every few
//                seconds, with its address
//   standby-N    the sign of a process that waits: how much it has read
//
// A process becomes the writer by the next segment, the head of a new term. The
// next put of the writer before it fails then, and no clock matters. Heads
// are never deleted. Others wait for `expire` without a new heartbeat before
// they try, so a writer is certain to lead for that time after one.
//
// Damaged and missing objects are DataLoss. A folder that another process
// changes is not protected: it may delete the last segments unseen.
//
// Thread-compatible.
class ObjectJournal final : public Journal {
 public:
  struct Options : JournalWait {
    // Time between heartbeats. Another process tries to become the writer when
    // one has not changed for `expire`.
    absl::Duration beat = absl::Milliseconds(2'500);
    absl::Duration expire = absl::Seconds(7);
    // Most puts a second in the long run, with heartbeats; bursts may have 16.
    double puts_a_second = 2;
    std::function<absl::Time()> now = SteadyNow;
    std::function<void(absl::Duration)> sleep = absl::SleepFor;
  };

  // Makes an empty journal if there is none, and becomes its writer.
  // `files` outlives the result. FailedPrecondition: a writer is active (its
  // address is named), or the store has no conditional puts.
  static absl::StatusOr<std::unique_ptr<ObjectJournal>> Open(
      const FileSystem& files, const std::string& folder, Options options);
  // Releases the journal: the next writer need not wait.
  ~ObjectJournal() override;

  absl::Status Append(std::span<const std::string> events) override;
  absl::Status Compact(std::string_view snapshot) override;
  bool worth_compacting() const override;
  absl::Status SayAddress(const std::string& address) override;
  uint64_t term() const override { return term_; }
  absl::Duration certain_for() const override {
    return std::max(certain_until_ - options_.now(), absl::ZeroDuration());
  }
  bool ticks() const override { return true; }
  absl::Status Tick() override;

 protected:
  absl::Status BeginAs(uint64_t id) override;

 private:
  struct Beat;

  ObjectJournal(const FileSystem& files, std::string folder, Options options);

  std::string NameOf(std::string_view kind, uint64_t number) const;
  absl::Status CheckConditions();
  absl::Status Lead();
  // Reads the journal, or what was added since the last call. False if it
  // changed meanwhile.
  absl::StatusOr<bool> Load();
  void Forget();
  // True if the folder still holds the journal that was read until now.
  absl::StatusOr<bool> IsSame() const;
  absl::StatusOr<bool> LoadSnapshot(uint64_t number);
  absl::Status TakeSegment(std::string_view bytes, uint64_t number);
  absl::StatusOr<Beat> AwaitFree();
  // Reads up to event `sequence` while it waits, and shows that it waits.
  absl::Status Follow(uint64_t sequence);
  void ShowStandby();
  void HideStandby();
  // Makes the head of a new term. False if another process was faster.
  absl::StatusOr<bool> TakeLead();

  // Makes segment `number_`. False if it is another's.
  absl::StatusOr<bool> PutSegment(std::span<const std::string> events);
  // The same, and an error ends all writing.
  absl::Status MustPutSegment(std::span<const std::string> events);
  absl::Status Fenced() const;
  absl::Status WriteBeat(bool leads);
  // Writes a heartbeat, and is certain for a time that no other process begins.
  absl::Status BeatAndBeCertain();
  absl::StatusOr<Beat> ReadBeat(uint64_t term) const;
  absl::StatusOr<std::string> Read(const std::string& name) const;
  // Waits until a put keeps the rate.
  void Pace();
  void DeleteSome();
  // Looks for signs of standbys. Errors are ignored.
  void LookForStandbys();

  const FileSystem& files_;
  const std::string folder_;
  const Options options_;
  const uint64_t writer_;  // drawn for this object

  ChainChecksum chain_{};  // of all events up to sequence_
  uint64_t number_ = 1;    // of the next segment
  uint64_t term_ = 0;
  std::vector<uint64_t> heads_;
  bool leads_ = false;
  bool loaded_ = false;
  uint64_t snapshot_number_ = 0;
  std::deque<std::string> deletes_;  // objects behind the snapshot
  absl::Status failure_;
  double puts_left_ = 16;
  absl::Time put_at_ = absl::InfinitePast();

  std::string address_;
  uint64_t beats_ = 0;
  absl::Time beaten_at_ = absl::InfinitePast();
  absl::Time certain_until_ = absl::InfinitePast();

  // The sign of a standby: its time, and the events that had been read.
  absl::Time shown_at_ = absl::InfinitePast();
  uint64_t shown_sequence_ = 0;
  // The signs that the writer saw, and since when each is the same.
  struct Sign {
    std::string bytes{};
    absl::Time since;
  };
  std::map<uint64_t, Sign> signs_;
  absl::Time looked_at_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_OBJECT_JOURNAL_H_
