#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/storage/journal_chain.h"

namespace feedmill {

// A small file beside a journal that records the number of its last event, so
// that a shortened or older journal is detected. Written after the journal's
// commit and not synced, so it may be behind. Two copies are written
// alternately: a torn write leaves the other one intact.
//
// Thread-compatible.
class JournalSeal {
 public:
  struct Mark {
    uint64_t journal = 0;
    uint64_t sequence = 0;
    ChainChecksum chain{};
  };

  // Opens the file but does not create it. DataLoss if no copy is readable.
  static absl::StatusOr<std::unique_ptr<JournalSeal>> Open(std::string path);
  JournalSeal(const JournalSeal&) = delete;
  JournalSeal& operator=(const JournalSeal&) = delete;
  ~JournalSeal();

  // The last mark; nullopt if the file does not exist yet.
  const std::optional<Mark>& mark() const { return mark_; }
  // Creates the file and syncs it and its folder. REQUIRES: it does not exist.
  absl::Status Create(const Mark& mark);
  absl::Status Write(const Mark& mark);

 private:
  explicit JournalSeal(std::string path) : path_(std::move(path)) {}
  absl::Status Read();

  std::string path_;
  int file_ = -1;
  size_t next_copy_ = 0;
  std::optional<Mark> mark_;
};

// Syncs a file or folder: its content survives a power failure.
absl::Status SyncPath(const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_
