#ifndef FEEDMILL_CORE_DATASET_GRAPH_H_
#define FEEDMILL_CORE_DATASET_GRAPH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/chunk/dtype.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/expr.h"

namespace feedmill {

// A pipeline as its user wrote it: plain data, not yet checked. YAML, the C++
// builder and the wire make the same Graph; Analyze (analysis.h) checks it.

// ---- sources
struct RangeSource {  // Python's range: one unnamed int64 a position
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};
enum class Compression {
  kByName,  // gzip if every name ends in .gz, zstd for .zst, else none
  kNone,
  kGzip,
  kZstd,
};
// A component that a source takes out of its records.
struct SourceField {
  std::string name;
  DType dtype = DType::kBytes;
  Shape shape;  // of one element: {} for a scalar
  friend bool operator==(const SourceField&, const SourceField&) = default;
};
// Fields that are left empty are found out from the first records before the
// graph is checked (InferFields in core/sources/field_inference.h).

struct TfRecordSource {  // one unnamed bytes component a record
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
};
struct TextSource {  // one unnamed bytes component a line, without its "\n"
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
};
// One unnamed bytes component of record_bytes a record; header and footer are
// left out of each file.
struct FixedLengthSource {
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
};
// The rows of arrays along their first axis: one unnamed component of a .npy,
// a component for each member of a .npz.
struct NpySource {
  std::vector<std::string> files;
  std::vector<SourceField> fields;
};
struct JsonlSource {  // one JSON object a line, its members by name
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields;
};
struct CsvSource {  // one record a line, its columns by name
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields;
  // The first record of each file has the names; else they are f0, f1, ….
  bool header = true;
  std::string delimiter = ",";  // one byte
  // Texts that stand for no value: NaN in floats, themselves in bytes.
  std::vector<std::string> missing = {""};
  // Quoted fields may hold line breaks; then files are not read in blocks.
  bool multiline = false;
};
// Tar files; members of one name up to the first '.' of its last part are an
// element, its components named by what follows that '.'; "__key__" is the
// name itself.
struct WebDatasetSource {
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields;
};
// One file an element: image (bytes), label (int64), path (bytes).
// label folder: the name of the file's folder; filename: what follows the last
// '_' (or the whole stem). Names that all are decimal integers are those
// integers; otherwise the index in the bytewise sorted list of all names.
struct ImagesSource {
  enum class Label { kFolder, kFilename };
  std::vector<std::string> files;
  Label label = Label::kFolder;
};
// ---- sources made of inputs: pipelines of their own, whose elements they put
// together. The inputs' options mean nothing; those of the whole hold.
struct Graph;
struct ConcatenateSource {  // one input after the other
  std::vector<Graph> inputs;
};
struct ZipSource {  // the components of all, as long as the shortest
  std::vector<Graph> inputs;
};
// block_length elements of each of cycle_length inputs in turn; where one ends,
// its turn passes, and the next that was not begun has it from then on.
struct InterleaveSource {
  std::vector<Graph> inputs;
  int64_t cycle_length = 0;  // 0: all
  int64_t block_length = 1;
};
// So many of each that after any n elements its count is the floor or the
// ceiling of n * weight, the weights being decimal numbers over their sum.
struct MixtureSource {
  enum class Stop {
    kFirstExhausted,  // before the first element that an input lacks
    kAllExhausted,    // once all were read whole; those that end begin again
    kRepeat,          // never; those that end begin again
  };
  std::vector<Graph> inputs;
  std::vector<double> weights;
  Stop stop = Stop::kFirstExhausted;
};
using Source =
    std::variant<RangeSource, TfRecordSource, TextSource, ImagesSource,
                 FixedLengthSource, NpySource, JsonlSource, CsvSource,
                 WebDatasetSource, ConcatenateSource, ZipSource,
                 InterleaveSource, MixtureSource>;

// ---- steps; the name of a step in YAML is its name here in snake_case
struct MapStep {
  // One unnamed expression, or named ones that become the only components.
  std::vector<std::pair<std::string, Expr>> outputs;
};
struct FilterStep {
  Expr predicate;
};
// The element's outputs, as of a map, taken apart along their first axes: each
// row becomes an element.
struct FlatMapStep {
  std::vector<std::pair<std::string, Expr>> outputs;
};
struct ParseExampleStep {  // tf.train.Example in the single bytes component
  struct Feature {
    std::string name;
    DType dtype = DType::kBytes;  // bytes, int64 or float32
    Shape shape;                  // {} for exactly one value
  };
  std::vector<Feature> features;
};
struct DecodeImageStep {  // bytes → uint8 [height, width, channels]
  enum class Dct { kAccurate, kFast };
  std::string component = "image";
  int64_t channels = 3;  // 1 or 3
  Dct dct = Dct::kAccurate;
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
  std::vector<ParseExampleStep::Feature> context;
  std::vector<ParseExampleStep::Feature> sequence;
};
// What becomes of elements whose making fails, for a reason that lies in the
// data, in the source or in a step before this one.
struct OnErrorStep {
  enum class Policy { kFail, kSkip };
  Policy policy = Policy::kFail;
  // kSkip only. More than so many are an error; absent: none is too many.
  std::optional<int64_t> cap;
  // A file to which the reader adds a line about each; empty: none.
  std::string quarantine;
};
// What enters it in the first pass and iteration is what leaves it in all of
// them. Each process that runs the steps before it keeps what they make.
struct CacheStep {
  // A folder, of the workers' machines, that keeps it; empty: their memory.
  std::string path{};
  // Of a cache in memory: how much of it one process keeps; the rest is made
  // again. Absent: kMemoryBytes.
  std::optional<int64_t> memory_bytes{};

  static constexpr int64_t kMemoryBytes = int64_t{1} << 30;
};
struct ShuffleStep {
  std::optional<uint64_t> seed{};  // overrides Options::seed
  // Absent: of all elements. Else within runs of so many, which begin half a
  // run earlier in odd epochs; after a step that changes the count, by a
  // reservoir of so many.
  std::optional<int64_t> window{};
  // Blocks of so many records change places, and those of `window` (8, if
  // absent) blocks that then stand together are mixed: reading is nearly in
  // order.
  std::optional<int64_t> block{};
  bool files = false;  // files change places, records of one do not
};
// How the rows of one component are made equal in shape.
struct Padding {
  std::string component;
  std::optional<Shape> shape;  // absent, and kUnknownDim: the longest's
  double value = 0;            // numbers and bool; bytes are padded with ""
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
  std::optional<int64_t> count;  // absent: endless
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
// As many elements as fit: padded, count * longest <= tokens; ragged, the sum
// of lengths. A length counts as 1 at least.
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
using Step =
    std::variant<MapStep, FilterStep, ParseExampleStep, DecodeImageStep,
                 ResizeStep, RandomFlipStep, ShuffleStep, BatchStep, RepeatStep,
                 TakeStep, SkipStep, ShardStep, EnumerateStep, UnbatchStep,
                 RebatchStep, WindowStep, BucketBySequenceLengthStep,
                 TokenBatchStep, PackStep, FlatMapStep,
                 ParseSequenceExampleStep, OnErrorStep, CacheStep>;

enum class Order {
  kDeterministic,  // the sequence that one thread makes
  kAny,            // each element once, as they come
};

struct Options {
  Order order = Order::kDeterministic;
  // How a run through a service uses its workers.
  enum class ProcessingMode {
    kDynamic,  // the dataset once; the dispatcher hands out splits as they ask
    kOff,      // the whole dataset once for each worker there is as it begins
  } processing_mode = ProcessingMode::kDynamic;
  std::optional<uint64_t> seed;  // absent: drawn, recorded and printed
};

struct Graph {
  Source source;
  std::vector<Step> steps;
  Options options;
  // Of the whole, not of an input: the functions of plugins that expressions
  // call, each with its plugin's name and version. PinPlugins
  // (plugin_pins.h) writes it before the graph is sent or fingerprinted.
  std::map<std::string, std::string> plugins{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GRAPH_H_
