#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// XXH3-128 of all that a journal holds up to an event.
using ChainChecksum = std::array<uint64_t, 2>;

// A small file beside a journal that says how far the journal had come, so
// that a shortened or older journal is noticed. Written after the journal's own
// commit and not synced: at worst it says too little. Two slots are written in
// turn, so that a torn write leaves the other one.
//
// Thread-compatible.
class JournalSeal {
 public:
  struct Mark {
    uint64_t journal = 0;
    uint64_t sequence = 0;
    ChainChecksum chain{};
  };

  // Opens the file, without making it. DataLoss if no slot is readable.
  static absl::StatusOr<std::unique_ptr<JournalSeal>> Open(std::string path);
  JournalSeal(const JournalSeal&) = delete;
  JournalSeal& operator=(const JournalSeal&) = delete;
  ~JournalSeal();

  // The last mark; nullopt if there is no file yet.
  const std::optional<Mark>& mark() const { return mark_; }
  // Makes the file, synced with its folder. REQUIRES: none is there.
  absl::Status Create(const Mark& mark);
  absl::Status Write(const Mark& mark);

 private:
  explicit JournalSeal(std::string path) : path_(std::move(path)) {}
  absl::Status Read();

  std::string path_;
  int file_ = -1;
  size_t next_slot_ = 0;
  std::optional<Mark> mark_;
};

// Makes what was written to the file, or created in the folder, outlast a power
// cut.
absl::Status SyncPath(const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_SEAL_H_
