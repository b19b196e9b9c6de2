#ifndef FEEDMILL_CORE_SOURCES_RECORD_DECODER_H_
#define FEEDMILL_CORE_SOURCES_RECORD_DECODER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/sources/framing.h"
#include "core/sources/record_source.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// What the bytes of records hold, as columns. Immutable; any thread.
class RecordDecoder {
 public:
  // What a file says about its records before the first: the columns of a CSV
  // file's header.
  struct Head {
    std::vector<int> fields;  // by column: which field it is, -1 for none
  };

  virtual ~RecordDecoder() = default;

  // Reads the first record of a file whose framing has a header.
  virtual absl::StatusOr<Head> ReadHead(std::string_view record) const;

  // Empties the block for rows of this decoder's components.
  void Reset(RecordBlock& out) const;

  // Appends a row for each record of `window`, up to the first bad one, and
  // then returns DataLoss, which says what is wrong but not where; out.rows
  // has what is good, but columns may hold more.
  virtual absl::Status Decode(const Head& head, std::string_view window,
                              std::span<const Extent> records,
                              RecordBlock& out) const = 0;

 protected:
  explicit RecordDecoder(std::vector<SourceField> fields)
      : fields_(std::move(fields)) {}

  const std::vector<SourceField> fields_;  // the components
};

// The decoder of records that are one component, their bytes.
std::unique_ptr<const RecordDecoder> MakeBytesDecoder();

// Those of the fields that are live.
std::vector<SourceField> LiveFields(const std::vector<SourceField>& fields,
                                    const std::vector<bool>& live);

// Takes rows away from the end of a block, as after an error.
void CutRows(size_t rows, RecordBlock& block);

// SourceField::why_bytes of a field of which a record has a value that is no
// number, where its numbers are of `dtype`.
std::string WhyBytes(const std::string& file, size_t record,
                     std::string_view value, DType dtype);

// The name in an error: cut if it is long, in UTF-8 whatever it is.
std::string Shown(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_DECODER_H_
