#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/status.h"

namespace feedmill {

class Journal;

// The way to open a journal that another process may be writing.
struct JournalWait {
  // Waits for the writer to be gone, as a standby. Else FailedPrecondition
  // names it.
  bool wait = false;
  // Asked while it waits: true ends the wait with Cancelled.
  std::function<bool()> stop = [] { return false; };
  // Called while it waits, each time that it has read events; they are
  // forgotten then (Journal::content). So there is little to read in the end.
  // An error ends the wait. Folders are not read while another process writes.
  std::function<absl::Status(const Journal&)> follow{};
};

// A process that waits to become the writer, as the writer sees it.
struct Standby {
  std::string name;      // "process 17 of pod-1"
  absl::Duration heard;  // since its last sign
  // Number of the last event that it had read then; nullopt if it does not
  // read before it is the writer.
  std::optional<uint64_t> sequence{};

  friend bool operator==(const Standby&, const Standby&) = default;
};
using Standbys = std::shared_ptr<const std::vector<Standby>>;  // not null

// A durable sequence of byte strings (events), of which one process at a time
// is the writer. A snapshot replaces the oldest events. Events are numbered
// from 1.
//
// FolderJournal keeps it in a folder of this machine, ObjectJournal in an
// object store, PostgresJournal in PostgreSQL.
//
// Thread-compatible.
class Journal {
 public:
  // Content that was read while it was opened, since the last call of
  // JournalWait::follow.
  struct Content {
    // True if it begins with the first event. It then replaces what was read
    // before.
    bool whole = false;
    uint64_t snapshot_sequence = 0;  // the last event in the snapshot
    std::optional<std::string> snapshot;
    std::vector<std::string> events;  // events after the snapshot, in order
  };

  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  // A random id drawn when the journal was made; never 0.
  uint64_t id() const { return id_; }
  // Number of the last event. All events up to it are durable.
  uint64_t sequence() const { return sequence_; }
  const Content& content() const { return content_; }
  void ForgetContent() { content_ = {}; }

  // Appends events durably, all or none. After an error every later call
  // returns the same error, because an event is safe only if all before it are.
  // FailedPrecondition: another process is the writer now.
  virtual absl::Status Append(std::span<const std::string> events) = 0;
  // Replaces all events by a snapshot of the state that they lead to.
  virtual absl::Status Compact(std::string_view snapshot) = 0;
  // Continues another journal: takes its id, and `snapshot` in place of its
  // `sequence` events. REQUIRES: this one is empty.
  absl::Status Import(uint64_t id, uint64_t sequence,
                      std::string_view snapshot) {
    FM_RETURN_IF_ERROR(BeginAs(id));
    sequence_ = sequence;
    return Compact(snapshot);
  }
  // True if the events are large enough for Compact to pay: a snapshot is
  // written at most once per four times its size in events.
  virtual bool worth_compacting() const {
    constexpr uint64_t kEventBytesMin = uint64_t{4} << 20;
    return event_bytes_ > std::max(kEventBytesMin, 4 * snapshot_bytes_);
  }

  // Number of this writer, counted from 1 in a store that other processes write
  // to; 0 in a folder.
  virtual uint64_t term() const { return 0; }

  // For how long from now no other process can begin to write: the writer may
  // speak for the journal without an Append. Infinite in a folder, which is
  // locked.
  virtual absl::Duration certain_for() const {
    return absl::InfiniteDuration();
  }

  // True if Tick is to be called about once a second. It returns the error that
  // Append would return.
  virtual bool ticks() const { return false; }
  virtual absl::Status Tick() { return absl::OkStatus(); }
  // The processes that wait for this one to be gone, as of the last Tick().
  Standbys standbys() const { return standbys_; }

  // Tells other processes the writer's address: "tcp://host:port".
  virtual absl::Status SayAddress(const std::string& address) = 0;

 protected:
  // Takes another id. REQUIRES: there are no events.
  virtual absl::Status BeginAs(uint64_t id) = 0;

  uint64_t id_ = 0;
  uint64_t sequence_ = 0;
  uint64_t snapshot_bytes_ = 0;
  uint64_t event_bytes_ = 0;  // since the snapshot
  Content content_;
  Standbys standbys_ = std::make_shared<const std::vector<Standby>>();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_H_
