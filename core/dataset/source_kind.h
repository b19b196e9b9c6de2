#ifndef FEEDMILL_CORE_DATASET_SOURCE_KIND_H_
#define FEEDMILL_CORE_DATASET_SOURCE_KIND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/description.h"
#include "core/dataset/fields.h"
#include "core/dataset/source.h"
#include "feedmill/element.h"

namespace feedmill {

class InputCombiner;  // core/plan/input_combiner.h
class RecordFormat;   // core/sources/record_format.h

// Bytes of a file that SourceKind::Begins looks at.
inline constexpr size_t kFileHeadBytes = 512;

// The positions of a source if no step needs its records counted.
enum class Positions {
  kRecords,  // counted when a job begins, which is cheap
  kBlocks,   // 4 MiB of a file; a record belongs to the block of its begin
  kFiles,    // whole files, read from their beginning
};

// Properties of a source and its options, besides types, that the engine needs.
struct SourceProperties {
  Positions positions = Positions::kRecords;
  // An index of record places counts the records.
  bool indexed = false;
  // Each file is one record.
  bool record_per_file = false;
  // Files are UTF-16. Like compressed files, they are read from their beginning
  // only.
  bool utf16 = false;
  // Records are lines of text, which users count from 1.
  bool lines = false;
  // Infinite according to the options.
  bool infinite = false;
  // Makes an element from one element of each input.
  bool pairs_inputs = false;
  // The component of the inputs whose sizes decide the order of elements; "":
  // none.
  std::string_view measured{};
  // The component that takes microseconds or more an element, e.g. by reading a
  // file; "": none.
  std::string_view heavy_component{};
  // The number of elements that a source promises although its positions are
  // not elements. Reading compares it.
  std::optional<uint64_t> elements{};
};

// Everything about one kind of source except its reference implementation.
// There is one object per kind, in one file of core/formats/ or, for sources
// that combine pipelines, of core/operators/ (or outside of feedmill:
// RegisterSource).
// FileSourceOf (core/formats/file_source_of.h) and CombiningSourceOf
// (core/operators/combining_source_of.h) make it from a plain struct; they do
// not compile if a part is missing. `options` belongs to a Source of this kind.
//
// Thread-safety: immutable; any thread.
class SourceKind {
 public:
  virtual ~SourceKind() = default;

  virtual std::string_view name() const = 0;  // in YAML
  virtual const std::type_info& options_type() const = 0;
  virtual const Description& description() const = 0;
  // Ends of the names of its files, as ".csv" or "/index.json".
  virtual std::vector<std::string_view> endings() const { return {}; }
  // True if only files of this kind begin with these bytes: the first
  // kFileHeadBytes of a file, uncompressed, or all of a shorter file.
  virtual bool Begins(std::string_view) const { return false; }
  virtual Source New() const = 0;  // with all defaults

  // The fields point into `options`.
  virtual FieldList Fields(void* options) const = 0;
  virtual std::shared_ptr<void> Copy(const void* options) const = 0;
  // Returns a short text for --explain: "range(0, 10, 1)"; "" if its files or
  // inputs describe it.
  virtual std::string Describe(const void* options) const = 0;
  virtual SourceProperties Properties(const void* options) const = 0;
  // Returns the spec of an element, given the specs of the inputs. Checks the
  // options; InvalidArgument names an option that does not fit.
  virtual absl::StatusOr<ElementSpec> Output(
      const void* options, std::span<const ElementSpec> inputs) const = 0;

  // Returns the end of the line of input `input` in --explain: ": 7 of each
  // 10", or "".
  virtual std::string DescribeInput(const void*, size_t) const { return ""; }

  // Returns the reader of the source's own records; null if it has none.
  virtual const RecordFormat* format() const { return nullptr; }
  // Returns the order of elements of a source that combines the pipelines of
  // its InputPipelines field; else null.
  virtual const InputCombiner* combiner() const { return nullptr; }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_KIND_H_
