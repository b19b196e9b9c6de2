#ifndef FEEDMILL_CORE_SOURCES_ROW_FILLER_H_
#define FEEDMILL_CORE_SOURCES_ROW_FILLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/io/known_files.h"
#include "core/io/manifest_files.h"
#include "core/io/random_access_file.h"
#include "core/io/range_gatherer.h"
#include "core/sources/framing.h"
#include "core/sources/record_source.h"
#include "core/sources/record_unframer.h"
#include "core/sources/tfrecord.h"
#include "feedmill/element.h"

namespace feedmill {

// A record to read, and the row for it.
struct WantedRecord {
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t size = 0;  // in the file
  uint64_t record = 0;
  size_t row = 0;
};

// Reads records that an index found into the rows of a column. Adjacent records
// are read together; single ones are read by the hundred. Rows may be in any
// order. Immutable; any thread, each with its own Scratch.
class RowFiller {
 public:
  class Scratch {
    friend class RowFiller;

    void Begin(size_t rows) {
      noted.assign(rows, {});
      gathered_from.clear();
      in_window.clear();
      gatherer.Begin();
    }

    // A row to gather: the address of its record in memory (null: none), and
    // the index of the record among the requested ones.
    struct Noted {
      const std::byte* at = nullptr;
      uint32_t size = 0;
      uint32_t wanted = 0;
    };
    static_assert(sizeof(Noted) == 16);

    std::vector<Noted> noted;  // by row
    std::vector<std::pair<size_t, std::shared_ptr<const RandomAccessFile>>>
        gathered_from;
    RangeGatherer gatherer;
    std::vector<size_t> in_window;  // rows
    BufferBuilder read;
    std::vector<TfRecordCopy> copies;  // of records in `read`, or in the window
  };

  // Both arguments must outlive this object.
  RowFiller(const Framing& framing, const ManifestFiles& files)
      : envelope_(framing.properties().envelope),
        files_(files),
        unframer_(framing, files) {}

  // Fills the rows of out.columns[0]. REQUIRES: its offsets are set, and its
  // values have room.
  // Rows of bad records are not filled. If the first such row is before
  // `bad_row`, `bad_row` is set to it and out.error to its error. `all`: in the
  // order of the files, one row each. A returned error Status concerns this
  // machine only.
  absl::Status Fill(std::span<const WantedRecord> all, KnownFiles& known,
                    Scratch& scratch, size_t& bad_row, RecordBlock& out) const;

 private:
  // The output rows, and the first bad one.
  struct Rows {
    std::byte* At(size_t row) const { return values + offsets[row]; }
    void Set(size_t row, std::span<const std::byte> data) {
      if (!data.empty()) __builtin_memcpy(At(row), data.data(), data.size());
    }
    std::byte* const values;
    const int64_t* const offsets;
    size_t& bad_row;
    absl::Status& error;
  };

  // The state of one Fill.
  struct Reading {
    std::span<const WantedRecord> all;
    KnownFiles& known;
    Scratch& scratch;
    Rows rows;
  };

  // Open files with announced reads.
  using AnnouncedFiles = std::vector<std::shared_ptr<const RandomAccessFile>>;

  static size_t GroupFrom(std::span<const WantedRecord> all);
  absl::Status Announce(std::span<const WantedRecord> all, KnownFiles& known,
                        AnnouncedFiles& announced) const;
  size_t CopySound(std::span<const WantedRecord> group,
                   std::span<const std::byte> bytes, Scratch& scratch,
                   Rows& rows) const;
  absl::Status ReadGroup(std::span<const WantedRecord> group,
                         Reading& reading) const;
  absl::Status ReadAlone(const WantedRecord& wanted, Reading& reading) const;
  absl::Status CopyGathered(std::span<const std::span<const std::byte>> ranges,
                            Reading& reading) const;
  absl::Status ReadWindow(Reading& reading) const;
  absl::Status ReadNoted(Reading& reading) const;
  absl::Status ReadOfFile(size_t begin, size_t end, Reading& reading) const;
  absl::Status Keep(const WantedRecord& wanted,
                    std::span<const std::byte> record, Rows& rows) const;

  const Framing::Envelope envelope_;
  const ManifestFiles& files_;
  const RecordUnframer unframer_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ROW_FILLER_H_
