#ifndef FEEDMILL_CORE_DATASET_SOURCE_KIND_H_
#define FEEDMILL_CORE_DATASET_SOURCE_KIND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/dataset/source.h"
#include "feedmill/element_spec.h"

namespace feedmill {

class InputCombiner;  // core/plan/input_combiner.h
class RecordFormat;   // core/sources/record_format.h

// The positions of a source where no step needs its records counted.
enum class Positions {
  kRecords,  // counted when a job begins, which is cheap
  kBlocks,   // 4 MiB of a file; a record belongs to the one where it begins
  kFiles,    // whole files, read from their beginning
};

// Properties of a source with its options that the engine must know, apart from
// its types.
struct SourceProperties {
  Positions positions = Positions::kRecords;
  // Counts its records by an index of their places.
  bool indexed = false;
  // Each file is one record.
  bool record_per_file = false;
  // Its records are lines of text, which people count from 1.
  bool lines = false;
  // Has no end, as far as the options tell.
  bool endless = false;
  // Takes an element of each of its inputs for each of its own.
  bool pairs_inputs = false;
  // The component whose making costs microseconds or more an element, as
  // reading a file does; "": none.
  std::string_view heavy_component{};
};

// Everything about one kind of source but its reference; one object a kind, in
// one file of core/formats/ or, for those that combine other pipelines, of
// core/operators/ (or outside: RegisterSource). FileSourceOf
// (core/formats/file_source_of.h) and CombiningSourceOf
// (core/operators/combining_source_of.h) make it of a plain struct and do not
// compile if a part is missing. `options` is that of a Source of this kind.
//
// Thread-safety: immutable; any thread.
class SourceKind {
 public:
  virtual ~SourceKind() = default;

  virtual std::string_view name() const = 0;  // in YAML
  virtual const std::type_info& options_type() const = 0;
  // A sentence for --help.
  virtual std::string_view summary() const = 0;
  virtual Source New() const = 0;  // with all defaults

  // The fields point into `options`.
  virtual FieldList Fields(void* options) const = 0;
  virtual std::shared_ptr<void> Copy(const void* options) const = 0;
  // Short, for --explain: "range(0, 10, 1)"; "" for its files or inputs.
  virtual std::string Describe(const void* options) const = 0;
  virtual SourceProperties Properties(const void* options) const = 0;
  // Returns an element of the source, whose inputs make `inputs`. Checks the
  // options; InvalidArgument says which does not fit.
  virtual absl::StatusOr<ElementSpec> Output(
      const void* options, std::span<const ElementSpec> inputs) const = 0;

  // Ends the line of input `input` in --explain: ": 7 of each 10", or "".
  virtual std::string DescribeInput(const void*, size_t) const { return ""; }

  // Makes the records of a source that has records of its own; else null.
  virtual const RecordFormat* format() const { return nullptr; }
  // Orders the elements of a source that combines the pipelines of its
  // InputPipelines field; else null.
  virtual const InputCombiner* combiner() const { return nullptr; }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_KIND_H_
