#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/status.h"

namespace feedmill {

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
  // Content at the time when it was opened.
  struct Content {
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
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_H_
