#ifndef FEEDMILL_STEPS_H_
#define FEEDMILL_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feedmill/element_spec.h"
#include "feedmill/expr.h"

// The options of the steps, as Dataset's methods take them. The name of a step
// in YAML is its name here in snake_case. The implementation of a step is its
// file in core/operators/.

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Expressions with the names of the components that they make. A single
// expression may have the name "".
using Outputs = std::vector<std::pair<std::string, Expr>>;

// A feature of tf.train.Example or tf.train.SequenceExample.
struct Feature {
  std::string name;
  DType dtype = DType::kBytes;  // bytes, int64 or float32
  Shape shape;                  // {} for exactly one value
  // Each value of the feature in a record that lacks it: the text of a number,
  // or bytes. Absent: such a record is a data error, unless the first dimension
  // is unknown, which is 0 then.
  std::optional<std::string> default_text{};
};
using Features = std::vector<Feature>;

// The shape and value to which rows of one component are padded.
struct Padding {
  std::string component;
  std::optional<Shape> shape;  // absent, and kUnknownDim: the longest's
  double value = 0;            // numbers and bool; bytes are padded with ""
};

struct MapStep {
  // One unnamed expression, or named ones that become the only components.
  Outputs outputs;
};
struct FilterStep {
  Expr predicate;
};
// A map whose outputs are split along their first axes: each row becomes an
// element.
struct FlatMapStep {
  Outputs outputs;
};
struct ParseExampleStep {  // tf.train.Example in the single bytes component
  Features features;
};
struct DecodeImageStep {  // bytes → uint8 [height, width, channels]
  enum class Dct { kAccurate, kFast };
  enum class OnWarning { kAccept, kFail };
  enum class Truncated { kFail, kPad };
  std::string component = "image";
  int64_t channels = 3;  // 1 or 3
  Dct dct = Dct::kAccurate;
  // Images that the codec decodes with a warning. kAccept counts them.
  OnWarning on_warning = OnWarning::kAccept;
  // JPEGs whose data ends early. kPad fills the missing pixels.
  Truncated truncated = Truncated::kFail;
};
// A pickled Python function. It runs in processes of the interpreter that the
// worker or reader allows (worker --allow-python).
struct PythonStep {
  // kElement: from an element to the components of `output`. kBatch: the same
  // for many elements at once, along a new first axis. kFilter: from an element
  // to one bool, true if it is kept.
  enum class Call { kElement, kBatch, kFilter };
  std::string function;  // Base64 of the output of cloudpickle
  // Identifies the function in the pipeline's fingerprint. "": by its bytes.
  std::string version{};
  Call call = Call::kElement;
  Features output;     // of any dtype, without defaults; not for kFilter
  std::string python;  // version of Python that pickled it: "3.11.2"
  // Packages that it needs, with their versions: "numpy==2.4.6".
  std::vector<std::string> packages;
  // An element that takes longer is an error.
  double timeout_seconds = 60;
  // Bytes that a process may allocate. 0: any number.
  int64_t memory_bytes = 0;
  // True if equal elements and random numbers always give equal results.
  bool deterministic = false;
};
struct ResizeStep {  // uint8 [h, w, c] → uint8 [height, width, c]
  enum class Method { kBilinear, kNearest };
  std::string component = "image";
  int64_t height = 0;
  int64_t width = 0;
  Method method = Method::kBilinear;
};
struct RandomFlipStep {  // any dtype [..., h, w, c]
  enum class Direction { kHorizontal, kVertical };
  std::string component = "image";
  Direction direction = Direction::kHorizontal;
  double probability = 0.5;
};
// tf.train.SequenceExample in the single bytes component: features of the
// context as of an Example, and feature lists, whose steps are an additional
// first dimension.
struct ParseSequenceExampleStep {
  Features context;
  Features sequence;
};
// Policy for elements that the source or an earlier step cannot make because
// of their data.
struct OnErrorStep {
  enum class Policy { kFail, kSkip };
  Policy policy = Policy::kFail;
  // kSkip only. Maximum number of skipped elements; absent: any number.
  std::optional<int64_t> cap;
  // A file to which the reader appends a line for each one; empty: none.
  std::string quarantine;
};
// Keeps the elements of the first pass and epoch, and returns them in all other
// passes. Each process that runs the steps before it keeps its own elements.
struct CacheStep {
  // Folder for the elements, on the workers' machines; empty: their memory.
  std::string path{};
  // Bytes that a cache in memory keeps in one process; other elements are made
  // again. Default: kMemoryBytes.
  std::optional<int64_t> memory_bytes{};

  static constexpr int64_t kMemoryBytes = int64_t{1} << 30;
};
struct ShuffleStep {
  std::optional<uint64_t> seed{};  // overrides Options::seed
  // Absent: shuffles all elements. Otherwise: within runs of `window` elements,
  // which begin half a run earlier in odd epochs; after a step that changes the
  // count, through a reservoir of `window` elements.
  std::optional<int64_t> window{};
  // Shuffles blocks of `block` records, then the records within each group of
  // `window` (default: 8) adjacent blocks, so that files are read nearly in
  // order.
  std::optional<int64_t> block{};
  bool files = false;  // changes the order of files, not within a file
};
enum class BatchLayout {
  kEqual,   // rows of one shape, stacked
  kPadded,  // padded to the longest row
  // Rows of a component are joined along their first dimension. The component
  // <name>_offsets, int64 [rows + 1], gives the beginning and end of each row.
  kRagged,
};
struct BatchStep {  // batch, padded_batch or ragged_batch, by its layout
  int64_t size = 0;
  bool drop_remainder = false;
  BatchLayout layout = BatchLayout::kEqual;
  std::vector<Padding> padding{};  // kPadded only
};
struct RepeatStep {
  std::optional<int64_t> count;  // absent: infinite
};
struct TakeStep {
  int64_t count = 0;
};
struct SkipStep {
  int64_t count = 0;
};
struct ShardStep {  // the elements index, index + count, …
  int64_t count = 0;
  int64_t index = 0;
};
struct EnumerateStep {  // adds a first component: start, start + 1, …
  std::string component = "index";
  int64_t start = 0;
};
struct UnbatchStep {};  // each element becomes its rows along the first axis
struct RebatchStep {    // batches of another size
  int64_t size = 0;
  bool drop_remainder = false;
};
// The elements w * shift + k * stride, k < size, stacked, for w = 0, 1, …
struct WindowStep {
  int64_t size = 0;
  int64_t shift = 0;  // 0: the size
  int64_t stride = 1;
  bool drop_remainder = false;
};
// The length of an element, for the steps below: the component's first
// dimension; of scalars, the number of bytes or the integer itself.
//
// Padded batches of elements of similar length. Bucket k has the lengths from
// boundaries[k - 1] to boundaries[k] - 1, and is full with batch_sizes[k].
struct BucketBySequenceLengthStep {
  std::string component = "x";
  std::vector<int64_t> boundaries;   // increasing
  std::vector<int64_t> batch_sizes;  // one more than boundaries
  bool drop_remainder = false;
  std::vector<Padding> padding{};
};
// Batches with as many elements as fit. Padded: count * longest <= tokens.
// Ragged: sum of lengths <= tokens. A length counts as 1 at least.
struct TokenBatchStep {
  std::string component = "x";
  int64_t tokens = 0;
  BatchLayout layout = BatchLayout::kPadded;  // or kRagged
  bool drop_remainder = false;
  std::vector<Padding> padding{};
};
// Joins sequences along the components' first axes into rows of `length`, and
// pads the rows. Adds two int32 components: segment_ids (1, 2, …; 0: padding)
// and positions within the segment. A sequence goes to the first of at most
// `bins` open rows with room. If no row has room, the oldest row is returned.
struct PackStep {
  int64_t length = 0;
  int64_t bins = 1;
  std::vector<Padding> padding{};  // values only
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_STEPS_H_
