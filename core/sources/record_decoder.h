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
#include "feedmill/element.h"

namespace feedmill {

// Decodes the bytes of records to columns. Immutable; any thread.
class RecordDecoder {
 public:
  // Information about a file's records from before the first record, e.g. the
  // columns in a CSV file's header.
  struct Head {
    std::vector<int> fields;  // by column: index of its field, -1 for none
  };

  virtual ~RecordDecoder() = default;

  // Decodes the first record of a file whose framing has a header.
  virtual absl::StatusOr<Head> ReadHead(std::string_view record) const;

  // Empties the block, for rows of this decoder's components.
  void Reset(RecordBlock& out) const { out.Reset(fields_); }

  // Appends a row for each record of `window`, up to the first bad one. Then it
  // returns DataLoss, which says what is wrong but not where. out.rows counts
  // the good rows, but columns may hold more.
  virtual absl::Status Decode(const Head& head, std::string_view window,
                              std::span<const Extent> records,
                              RecordBlock& out) const = 0;

 protected:
  explicit RecordDecoder(std::vector<SourceField> fields);
  // REQUIRES: `field` is one of fields_.
  size_t IndexOf(const SourceField& field) const {
    return static_cast<size_t>(&field - fields_.data());
  }

  const std::vector<SourceField> fields_;  // the components
  // By field: the next one is its validity (core/chunk/validity.h). Rows of
  // fields without any are decoded by a loop that does not look.
  std::vector<bool> nullable_;
  bool has_nulls_ = false;
};

// Returns the decoder of records with one component, their bytes.
std::unique_ptr<const RecordDecoder> MakeBytesDecoder();

// Appends the value that stands for null, 0 or "", and its validity. REQUIRES:
// a scalar.
void AppendNull(DType dtype, OutputColumn& column, OutputColumn& validity);
// Appends the validity of a value.
inline void AppendValid(OutputColumn& validity) {
  validity.values.Push(uint8_t{1});
}

// Returns, for an error, what to write for nulls of a field without nulls.
std::string HowToTakeNulls(const SourceField& field);
// The same for a value of fields[f] that does not fit its type. `number`: its
// text if it is a number, else "".
std::string HowToTake(std::span<const SourceField> fields, size_t f,
                      std::string_view number);

// Returns the live ones of the fields.
std::vector<SourceField> LiveFields(const std::vector<SourceField>& fields,
                                    const std::vector<bool>& live);

// Returns SourceField::why_bytes of a field of `dtype` numbers in which a
// record has a value that is not a number.
std::string WhyBytes(const std::string& file, size_t record,
                     std::string_view value, DType dtype);

// Returns `text` for an error message: shortened if long, and always valid
// UTF-8.
std::string Shown(std::string_view text);

// The error of a text that AppendTime refuses.
absl::Status NoTime(std::string_view field, std::string_view text,
                    LogicalType time);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_RECORD_DECODER_H_
