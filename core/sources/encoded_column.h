#ifndef FEEDMILL_CORE_SOURCES_ENCODED_COLUMN_H_
#define FEEDMILL_CORE_SOURCES_ENCODED_COLUMN_H_

#include <cstddef>
#include <cstdint>

#include "core/chunk/encoding.h"
#include "core/dataset/function_registry.h"
#include "feedmill/element.h"

namespace feedmill {

// A column that a source makes: its items, their encoding, and the owner of
// their memory. A source writes items into the base, or shows another owner's
// items. Not thread-safe.
class EncodedColumn : public OutputColumn {
 public:
  // The owner of the items, from the owner that allows most to the owner
  // that allows least.
  enum class Memory : uint8_t {
    kOwn,     // this column, until the next read
    kShared,  // others in this process; the items do not change
    kMapped,  // a mapped file, which may change: other processes get copies
  };

  Memory memory() const { return memory_; }
  const Encoding& encoding() const { return encoding_; }

  // Empties the column for plain items in its own memory. Offsets and starts,
  // if the items have them, begin with 0.
  void Reset(DType new_dtype, const Shape& new_shape);
  // Makes the column the numbers first, first + step, …
  void SetSequence(uint64_t first, uint64_t step);
  // Says that each string is followed by `bytes` other bytes.
  void SetTrailing(size_t bytes) {
    encoding_ = {.kind = Encoding::kTrailing, .trailing = bytes};
  }
  // Shows plain items of another owner.
  void Show(Column column, Memory memory);

  // Returns the items without a copy; valid until this column is changed.
  const Column& View() {
    return memory_ == Memory::kOwn ? OutputColumn::View() : shown_;
  }
  EncodedView Encoded() { return {&View(), encoding_}; }
  // Returns true if Take returns items that outlive this column.
  bool CanTake() const;
  // Returns the items with their memory. REQUIRES: CanTake(), and they are
  // plain.
  Column Take();
  // Puts plain items into the column's own memory.
  void MakePlain(size_t rows);
  // Keeps the first `rows` rows. REQUIRES: items are plain, offsets and starts
  // begin at 0.
  void Truncate(size_t rows);
  // Returns the bytes of values of the first `rows` rows. REQUIRES: the same.
  size_t BytesOf(size_t rows);

 private:
  void CloseGaps(size_t rows);

  Memory memory_ = Memory::kOwn;
  Encoding encoding_;
  Column shown_;  // unless memory_ is kOwn
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ENCODED_COLUMN_H_
