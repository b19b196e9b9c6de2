#ifndef FEEDMILL_DATASET_OPTIONS_H_
#define FEEDMILL_DATASET_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feedmill/element.h"
#include "feedmill/expr.h"

// The options of the sources and steps, as Dataset's methods (dataset.h) take
// them, and of a whole dataset:
//
//   Dataset::Csv({"houses.csv"}, {.delimiter = ";"})  // CsvSource
//       .Enumerate({.component = "row"})              // EnumerateStep
//       .Batch(32, {.drop_remainder = true})          // BatchOptions
//       .WithOrder(Order::kAny);                      // Order
//
// The name of a step in YAML is its name here in snake_case. The implementation
// of a step is its file in core/operators/.

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// ---- sources

// Compression of whole files.
enum class Compression {
  // By the first bytes of the first file where the reading process has it,
  // else by the end of the files' names.
  kByName,
  kNone,
  kGzip,
  kZstd,
  kBz2,
  kXz,
};

// A component that a source reads from its records.
struct SourceField {
  std::string name;
  DType dtype = DType::kBytes;
  Shape shape;  // of one element: {} for a scalar
  // For errors only; no part of the graph. If one value among numbers made an
  // inferred type bytes: that value, and the type without it. If an array
  // cannot be read: the reason.
  std::string why_bytes{};
  // Value of a record that lacks the field: the text of a number, or bytes.
  // Absent: such a record is a data error. webdataset only.
  std::optional<std::string> default_text{};
  // For inference only; no part of the graph. The files have nulls of it.
  bool has_nulls = false;
  LogicalType logical = LogicalType::kNone;
  friend bool operator==(const SourceField& a, const SourceField& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape &&
           a.default_text == b.default_text && a.logical == b.logical;
  }
};

// Encoding of text files. Components are UTF-8 in any case.
enum class TextEncoding {
  kUtf8,  // bytes as they are
  kLatin1,
  kUtf16,  // by its byte order mark; little-endian without one
};

// Options of the built-in sources (docs/semantics/sources.md). `files` are
// names, globs and folders. Empty `fields` are inferred from the first records;
// `types` then replace the types of some of them. In both, a field n that may
// be null is followed by {"valid(n)", DType::kBool}. `zstd_window_log` is the
// base-2 logarithm of the largest zstd window that is accepted, 10 to 31; 0:
// 27, as for `zstd -d`.

struct RangeSource {  // Python's range: one unnamed int64 a position
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};
struct TfRecordSource {  // one unnamed bytes component a record
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t zstd_window_log = 0;
};
struct TextSource {  // one unnamed bytes component a line, without its "\n"
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t zstd_window_log = 0;
};
// One unnamed bytes component of record_bytes a record; header and footer are
// left out of each file.
struct FixedLengthSource {
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t zstd_window_log = 0;
};
// The rows of arrays along their first axis: one unnamed component of a .npy,
// a component for each member of a .npz.
struct NpySource {
  std::vector<std::string> files{};
  std::vector<SourceField> fields{};
};
struct JsonlSource {  // one JSON object a line, its members by name
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  TextEncoding encoding = TextEncoding::kUtf8;
  int64_t zstd_window_log = 0;
  // See CsvSource.
  bool exact_integers = false;
  std::vector<SourceField> types{};
};
struct CsvSource {  // one record a line, its columns by name
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  // The first record of each file has the names; else they are f0, f1, ….
  bool header = true;
  std::string delimiter = ",";  // one byte
  // The byte around quoted fields; "": fields are not quoted.
  std::string quote = "\"";
  // The byte in front of one that stands for itself; "": none.
  std::string escape{};
  // Texts that stand for no value: NaN in floats, themselves in bytes.
  std::vector<std::string> missing = {""};
  // The mark of decimals, one byte, and the text between groups of three digits
  // in numbers, "" for none: "1.234,5" with "," and ".".
  std::string decimal = ".";
  std::string thousands{};
  // Quoted fields may hold line breaks; then files are not read in blocks.
  bool multiline = false;
  TextEncoding encoding = TextEncoding::kUtf8;
  // Lines that begin with this text are skipped; "": none.
  std::string comment{};
  // Number of lines to skip at the beginning of each file, before the header.
  int64_t skip_rows = 0;
  // Runs of columns that are one component each, a list of numbers:
  // "pixels=p0..p783" is the columns from p0 to p783 as the component pixels.
  std::vector<std::string> vectors{};
  int64_t zstd_window_log = 0;
  // An integer whose digits its float does not keep is a data error. True if
  // the fields are inferred; else such an integer is rounded.
  bool exact_integers = false;
  std::vector<SourceField> types{};
};
// Tar files. Members with the same name up to the first '.' form an element,
// e.g. a/17.jpg and a/17.cls. The text after the '.' names the component, and
// the component "__key__" is the name before it (a/17).
struct WebDatasetSource {
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  int64_t zstd_window_log = 0;
};
// The samples of MDS shards (MosaicML Streaming), their columns by name.
struct MdsSource {
  std::vector<std::string> files{};
  std::vector<SourceField> fields{};
};
// The entries of LMDB databases in the order of their keys: the components
// `key` and `value`, bytes.
struct LmdbSource {
  std::vector<std::string> files{};
};
// The records of ArrayRecord files: one unnamed bytes component.
struct ArrayRecordSource {
  std::vector<std::string> files{};
};
// The rows of Parquet files, and of Arrow IPC files and streams: columns by
// name, "a.b" for the member b of the struct a. `columns`: the columns to read;
// empty: all. `partitions`: folders called KEY=VALUE are columns, too.
struct ParquetSource {
  std::vector<std::string> files{};
  std::vector<std::string> columns{};
  std::vector<SourceField> fields{};
  bool partitions = false;
  std::vector<SourceField> types{};
};
// `memory_map` (Arrow): a local read gives views of the mapped files instead of
// copies. No process may write to or truncate a file while batches of it are
// alive: they would change.
struct ArrowSource {
  std::vector<std::string> files{};
  std::vector<std::string> columns{};
  std::vector<SourceField> fields{};
  bool partitions = false;
  bool memory_map = false;
  std::vector<SourceField> types{};
};
// One file an element: image (bytes), label (int64), path (bytes). A label is
// named like the file's folder (kFolder), or the part of the file's
// stem after the last '_' (kFilename). If all names are decimal integers,
// labels are these integers. Otherwise a label is the index of its name in the
// bytewise sorted list of all names.
struct ImagesSource {
  enum class Label { kFolder, kFilename };
  std::vector<std::string> files{};
  Label label = Label::kFolder;
  // The names that label images, in the order of their numbers. Empty: the
  // names that the files have. Another name is a data error of its image.
  std::vector<std::string> classes{};
  // A file with such a name a line, in place of `classes`.
  std::string classes_file{};
};

// ---- sources of several datasets

// When a mixture of datasets ends (Dataset::Mixture).
enum class MixtureStop {
  kFirstExhausted,  // before the first element that an input lacks
  kAllExhausted,    // when each was read once; inputs that end begin again
  kRepeat,          // never; inputs that end begin again
};

// The unit of the weights of a mixture (Dataset::Mixture): elements, or the
// size of `component` in them.
struct MixtureMeasure {
  enum class Unit {
    kElements,
    kBytes,  // of the values: the lengths of all its texts, or items times size
    kItems,  // the product of its shape: 1 for a scalar, tokens of a row
  };
  Unit unit = Unit::kElements;
  std::string component{};
};

struct InterleaveOptions {
  int64_t cycle_length = 0;  // number of inputs that take turns; 0: all
  int64_t block_length = 1;  // number of elements in a turn
};

// ---- steps

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
  LogicalType logical = LogicalType::kNone;
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
// Adds named components, or replaces components of their names.
struct WithColumnsStep {
  Outputs outputs;
};
struct SelectStep {  // keeps these components, in this order
  std::vector<std::string> components;
};
struct DropStep {  // keeps the other components
  std::vector<std::string> components;
};
struct RenameStep {
  Outputs names;  // by old name: Expr::Named(new name)
};
struct FilterStep {
  Expr predicate;
};
// The element that Dataset::Lookup makes of one whose key no row has.
enum class Unmatched {
  kError,  // a data error
  kDrop,   // none
  kNulls,  // one whose columns are null
};

struct LookupOptions {
  std::string key{};  // the component, an integer or bytes
  // The column of the table that has the keys; "": the column `key`.
  std::string table_key{};
  std::vector<std::string> columns{};  // of the table; empty: all others
  Unmatched unmatched = Unmatched::kError;
};

// The steps below choose elements by the hash of a key, hash_uniform(name of
// the step, seed, `by`); without `by`, the key is all components. Elements with
// equal keys are kept or left out together, also if files are added.
struct SampleStep {
  double fraction = 0;  // 0 to 1
  Outputs by{};
  int64_t seed = 0;
};
struct SplitStep {
  std::vector<double> parts;  // their sum is 1
  int64_t part = 0;           // the index of the kept part
  Outputs by{};
  int64_t seed = 0;
};
// A map whose outputs are split along their first axes: each row becomes an
// element.
struct FlatMapStep {
  Outputs outputs;
};
struct ParseExampleStep {  // tf.train.Example in the single bytes component
  Features features;
};
struct DecodeImageStep {  // bytes → uint8 or uint16 [height, width, channels]
  enum class Dct { kAccurate, kFast };
  enum class Dtype { kUInt8, kUInt16 };
  enum class OnWarning { kAccept, kFail };
  enum class Truncated { kFail, kPad };
  std::string component = "image";
  // 1: grey. 3: red, green and blue. 4: and alpha, opaque if a file has none.
  int64_t channels = 3;
  Dct dct = Dct::kAccurate;
  // Images that the codec decodes with a warning. kAccept counts them.
  OnWarning on_warning = OnWarning::kAccept;
  // JPEGs whose data ends early. kPad fills the missing pixels.
  Truncated truncated = Truncated::kFail;
  // Turns and flips images by the EXIF orientation in JPEG, PNG and WebP files.
  bool apply_exif_orientation = false;
  // kUInt16 keeps samples of 16 bits (PNG, PNM), and multiplies others by 257.
  Dtype dtype = Dtype::kUInt8;
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
// uint8 [h, w, c] → uint8 [height, width, c]. Either both sides are given, or
// one of shorter and longer; then the other side keeps the ratio, rounded down.
struct ResizeStep {
  enum class Method { kBilinear, kNearest };
  std::string component = "image";
  int64_t height = 0;
  int64_t width = 0;
  int64_t shorter = 0;  // length of the shorter side
  int64_t longer = 0;   // length of the longer side
  Method method = Method::kBilinear;
  // Weighs all pixels that a smaller pixel covers, as torchvision does with
  // antialias=True. Only for kBilinear.
  bool antialias = false;
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
struct SubsetStep {  // the elements with these indexes, which increase
  std::vector<int64_t> indices;
};
// Elements in proportion to their weights, in a random order, other ones in
// each epoch. An element is chosen floor(E) or ceil(E) times, E being its share
// of the weights times `count`.
struct WeightedSampleStep {
  // A number of at least 0 for each element or, with `classes`, for each class.
  std::vector<double> weights{};
  // The class of each element, from 0. Without weights, all classes have the
  // same share. A class without elements has none.
  std::vector<int64_t> classes{};
  std::optional<int64_t> count{};  // absent: as many as there are
  // Each element is chosen once at most: E is at most 1, and other elements
  // share the rest.
  bool distinct = false;
  std::optional<uint64_t> seed{};  // absent: the pipeline's
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
  // A last round may have fewer batches than ranks.
  enum class LastRound {
    kDrop,    // leaves its batches out
    kRepeat,  // gives its last batch again
  };
  std::string component = "x";
  std::vector<int64_t> boundaries;   // increasing
  std::vector<int64_t> batch_sizes;  // one more than boundaries
  bool drop_remainder = false;
  std::vector<Padding> padding{};
  // The batches of a bucket come in rounds of this many, one for each rank.
  int64_t ranks = 0;                        // 0: 1
  LastRound last_round = LastRound::kDrop;  // of a bucket, at the end of a pass
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
// and positions within the segment.
struct PackStep {
  enum class Method {
    kBestFit,   // the oldest of `window` sequences, then the longest that fit
    kFirstFit,  // the first of `bins` open rows with room
    kConcatenate,  // one after another, cut where a row ends
  };
  enum class Longer { kError, kTruncate, kSplit };

  int64_t length = 0;  // items of a row
  Method method = Method::kBestFit;
  int64_t window = 256;
  int64_t bins = 1;
  // For a sequence that is longer than a row: an error, its first items, or
  // parts.
  Longer longer = Longer::kError;
  std::optional<int64_t> sequences{};  // most in a row; absent: any number
  int64_t align = 1;                   // sequences begin at multiples of it
  std::vector<Padding> padding{};      // values only
};

// ---- steps, as the arguments of Dataset's methods

struct BatchOptions {
  // Leave out a last batch that is not full. Its first dimension is then known.
  bool drop_remainder = false;
};
struct PaddedBatchOptions {
  bool drop_remainder = false;
  // Shapes and values by component. Default: the longest row's shape, and 0.
  std::vector<Padding> padding = {};
};
struct WindowOptions {
  int64_t shift = 0;   // between the first elements of two windows; 0: the size
  int64_t stride = 1;  // between the elements of one window
  bool drop_remainder = false;
};

// ---- a whole dataset

// The order in which a reader gets the elements.
enum class Order {
  // Always the same sequence: as a single thread would make it.
  kDeterministic,
  // Each element once, in the order of arrival. Readers of a job share it.
  kAny,
};

// The way in which a run through a service uses its workers.
enum class ProcessingMode {
  // One pass over the dataset: workers ask the dispatcher for splits of it.
  kDynamic,
  // One whole pass for each worker that is registered when the run begins.
  kOff,
};

// Number of elements of each rank, if the ranks do not divide the elements of
// an epoch. Ranks that take each step together need kDrop or kPad: in the last
// step of kExact, some of them would wait for the others without end.
enum class Even {
  // Every element once. Some ranks get one element more than others.
  kExact,
  // Every rank gets as many. The last elements of the epoch, fewer than the
  // ranks, are left out.
  kDrop,
  // Every rank gets as many. A rank without one of the last elements gets the
  // element before once more.
  kPad,
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_DATASET_OPTIONS_H_
