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
// The element's outputs, as of a map, taken apart along their first axes: each
// row becomes an element.
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
  // JPEGs whose data ends early. kPad makes up the pixels that are missing.
  Truncated truncated = Truncated::kFail;
};
// A pickled Python function, which processes of the interpreter run that the
// process allows (worker --allow-python).
struct PythonStep {
  // kElement: from an element to the components of `output`. kBatch: the same
  // for many elements at once, along a new first axis. kFilter: from an element
  // to one bool, true if it is kept.
  enum class Call { kElement, kBatch, kFilter };
  std::string function;  // Base64 of what cloudpickle made
  // Identifies the function in the pipeline's fingerprint. "": its bytes do.
  std::string version{};
  Call call = Call::kElement;
  Features output;     // of any dtype, without defaults; not for kFilter
  std::string python;  // version that pickled it: "3.11.2"
  // Packages and their versions that it needs: "numpy==2.4.6".
  std::vector<std::string> packages;
  // An element that takes longer is an error.
  double timeout_seconds = 60;
  // Bytes that a process may allocate. 0: any number.
  int64_t memory_bytes = 0;
  // Equal elements and random numbers give equal results, always.
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
// context as of an Example, and feature lists, whose steps are a first
// dimension more.
struct ParseSequenceExampleStep {
  Features context;
  Features sequence;
};
// Policy for elements that the source or a step before this one cannot make,
// for a reason that lies in the data.
struct OnErrorStep {
  enum class Policy { kFail, kSkip };
  Policy policy = Policy::kFail;
  // kSkip only. Most elements that may be skipped; absent: any number.
  std::optional<int64_t> cap;
  // A file to which the reader adds a line about each; empty: none.
  std::string quarantine;
};
// Keeps the elements of the first pass and epoch, and gives them in all others.
// Each process that runs the steps before it keeps the elements that it makes.
struct CacheStep {
  // A folder, of the workers' machines, that keeps it; empty: their memory.
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
  bool files = false;  // files change places, records of one do not
};
enum class BatchLayout {
  kEqual,   // rows of one shape, stacked
  kPadded,  // made as long as the longest
  // Components with a dimension are joined along the first, and each is
  // followed by where its rows begin and end: <name>_offsets, int64 [rows + 1].
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
struct ShardStep {  // every count-th element, from that of that index on
  int64_t count = 0;
  int64_t index = 0;
};
struct EnumerateStep {  // a first component more: start, start + 1, …
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
// Padded batches of elements of similar length: bucket k is of those below
// boundaries[k] (and not below the one before), and full with batch_sizes[k].
struct BucketBySequenceLengthStep {
  std::string component = "x";
  std::vector<int64_t> boundaries;   // increasing
  std::vector<int64_t> batch_sizes;  // one more
  bool drop_remainder = false;
  std::vector<Padding> padding{};
};
// Batches of as many elements as fit: padded, count * longest <= tokens;
// ragged, the sum of lengths. A length counts as 1 at least.
struct TokenBatchStep {
  std::string component = "x";
  int64_t tokens = 0;
  BatchLayout layout = BatchLayout::kPadded;  // or kRagged
  bool drop_remainder = false;
  std::vector<Padding> padding{};
};
// Sequences, the components' first axes, one after another in rows of `length`
// and then padded; two int32 components more tell them apart: segment_ids (1,
// 2, …; 0: padding) and positions in them. A sequence goes to the first of at
// most `bins` open rows where it fits; if none, the oldest goes out.
struct PackStep {
  int64_t length = 0;
  int64_t bins = 1;
  std::vector<Padding> padding{};  // values only
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_STEPS_H_
