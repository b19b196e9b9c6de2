#ifndef FEEDMILL_DATASET_H_
#define FEEDMILL_DATASET_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/expr.h"
#include "feedmill/options.h"
#include "feedmill/sources.h"
#include "feedmill/steps.h"

// Private to the library.
namespace feedmill {
struct Graph;
class Step;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

struct OptionValue;
// The options of a step or source by their names.
using StepOptions = std::map<std::string, OptionValue>;

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

struct InterleaveOptions {
  int64_t cycle_length = 0;  // number of inputs that take turns; 0: all
  int64_t block_length = 1;  // number of elements in a turn
};

// A dataset: the files to read and the steps to run on their records. Each
// method returns a new Dataset with one step more and leaves this one as it
// is. Nothing is read, checked or run before Read (reader.h) or Loader
// (loader.h) opens it. A method is the YAML step of its name in snake_case
// (docs/steps.md).
//
//   Dataset photos =
//       Dataset::Images({"/data/photos/*/*.jpg"})
//           .Shuffle()
//           .DecodeImage()
//           .Resize(224, 224)
//           .RandomFlip()
//           .Map({{"image", Expr::Named("image") / 255},
//                 {"label", Expr::Named("label")}})
//           .Batch(32, {.drop_remainder = true});
//
// Terms: an element is a list of components, each a tensor with a name, a
// dtype and a shape. `x` names the only component of an element without names.
// A dimension that differs between elements is written `?`.
//
// Errors are those of Read, which names the step:
//   InvalidArgument  an argument is wrong, a component does not exist, or it
//                    has a dtype or shape that the step does not take
//   DataLoss         an element cannot be made, e.g. a corrupt image; OnError
//                    leaves such elements out
//
// A value: copies are cheap and independent. Thread-compatible.
class Dataset {
 public:
  using Outputs = std::vector<std::pair<std::string, Expr>>;
  using ImageLabel = ImagesSource::Label;
  using MixtureStop = feedmill::MixtureStop;

  // ---- sources. `files` are names, globs, folders or URLs. A relative name is
  // relative to ReadOptions::directory. Through a service, workers open the
  // files, so the names must mean the same files on their machines. Fields that
  // are not declared are inferred from the first records (docs/steps.md).

  // Makes start, start + step, … below `stop` (above it for a negative step).
  // Output: x, int64 [].   Example: Range(0, 10, 3) → 0, 3, 6, 9.
  static Dataset Range(int64_t start, int64_t stop, int64_t step = 1);
  static Dataset Range(int64_t stop) { return Range(0, stop); }
  // Records of TFRecord files. Output: x, bytes [].
  // Example: TfRecord({"train-*.tfrecord"}).ParseExample({{"id", kInt64, {}}}).
  static Dataset TfRecord(std::vector<std::string> files,
                          Compression compression = Compression::kByName);
  // Lines of text files, without line ends. Output: x, bytes [].
  static Dataset Text(std::vector<std::string> files,
                      Compression compression = Compression::kByName);
  // Image files, not decoded. Output: image, bytes []; label, int64 []; path,
  // bytes []. The label is the folder's name if that is an integer, else its
  // index among all folder names, sorted.
  static Dataset Images(std::vector<std::string> files,
                        ImageLabel label = ImageLabel::kFolder);
  // Records of options.record_bytes bytes. Output: x, bytes [].
  // Example: FixedLength({"mnist.bin"}, {.record_bytes = 785}).
  static Dataset FixedLength(std::vector<std::string> files,
                             FixedLengthSource options);
  // Rows of .npy and .npz arrays along the first axis. Output: x of the array's
  // dtype and remaining shape; of .npz files, a component for each member.
  static Dataset Npy(std::vector<std::string> files, NpySource options = {});
  // Objects, one in each line. Output: a component for each member.
  static Dataset Jsonl(std::vector<std::string> files,
                       JsonlSource options = {});
  // Rows of CSV files. Output: a component for each column, [].
  // Example: Csv({"people.csv"}, {.delimiter = ";"}).
  static Dataset Csv(std::vector<std::string> files, CsvSource options = {});
  // Samples of tar files. Output: a component for each extension, bytes [], and
  // `__key__`, bytes [].
  static Dataset WebDataset(std::vector<std::string> files,
                            WebDatasetSource options = {});
  // Rows of Parquet files, and of Arrow IPC (Feather) files and streams.
  // Output: a component for each column. FailedPrecondition without the plugin
  // libfeedmill_arrow.so (docs/steps.md).
  static Dataset Parquet(std::vector<std::string> files,
                         ParquetSource options = {});
  static Dataset Arrow(std::vector<std::string> files,
                       ArrowSource options = {});
  // Samples of MDS shards (MosaicML Streaming). Output: a component for each
  // column.
  static Dataset Mds(std::vector<std::string> files, MdsSource options = {});
  // Entries of LMDB databases, in the order of their keys. Output: key and
  // value, bytes [].
  static Dataset Lmdb(std::vector<std::string> files);
  // Any source by its YAML name, with options by their YAML names.
  // InvalidArgument: no such source or option, or a value of another type.
  // Example: From("text", {{"files", std::vector<std::string>{"a.txt"}}}).
  static absl::StatusOr<Dataset> From(const std::string& name,
                                      const StepOptions& options);
  static absl::StatusOr<Dataset> From(const std::string& name);

  // ---- datasets of datasets. The inputs' options (seed, order) do not count.
  // All but Zip need inputs whose elements have the same components.

  // One input after the other.
  static Dataset Concatenate(const std::vector<Dataset>& inputs);
  // One element of each input, their components side by side. Ends with the
  // shortest input. InvalidArgument if two inputs share a component's name.
  static Dataset Zip(const std::vector<Dataset>& inputs);
  // block_length elements of each of cycle_length inputs in turn.
  static Dataset Interleave(const std::vector<Dataset>& inputs,
                            InterleaveOptions options = {});
  // Elements of each input in proportion to its weight: after any n elements,
  // an input with the share w has given floor(n * w) or ceil(n * w).
  // Example: Mixture({web, books}, {0.7, 0.3}).
  static Dataset Mixture(const std::vector<Dataset>& inputs,
                         std::vector<double> weights,
                         MixtureStop stop = MixtureStop::kFirstExhausted);

  // ---- from YAML (docs/steps.md)

  // A pipeline's text. Relative names are relative to `directory`; if that is
  // "", to ReadOptions::directory. InvalidArgument names line and column.
  static absl::StatusOr<Dataset> FromYaml(std::string_view text,
                                          const std::string& directory = "");
  // A pipeline's file. Relative names are relative to its folder. NotFound if
  // there is no such file.
  static absl::StatusOr<Dataset> FromYamlFile(const std::string& path);

  // Private to the library.
  Dataset(Graph graph);  // NOLINT(google-explicit-constructor)

  // ---- steps on each element

  // The element becomes these components, in this order; others are dropped.
  // Output: the dtype and shape of each expression (docs/expressions.md). A
  // single unnamed output is x. The function form is called once, here, with
  // Expr::Named("x"), and the expression that it returns travels to the
  // workers. An `if` on an Expr does not compile: use Where.
  // Example: Map({{"half", Expr::Named("x") / 2}}), Map([](Expr x) { return x *
  // x; }).
  Dataset Map(Outputs outputs) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Map(F&& f) const {
    return Map(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  // Keeps the elements for which the predicate, bool [], is true.
  // Example: Filter(Expr::Named("rooms") > 1).
  Dataset Filter(Expr predicate) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Filter(F&& f) const {
    return Filter(Expr(std::forward<F>(f)(Expr::Named("x"))));
  }
  // Runs Map; then each row of the outputs along the first axis is an element.
  // Output: T [n, …] → n elements T […]. DataLoss if outputs differ in n.
  // Example: FlatMap({{"word", Expr::Apply("split", {Expr::Named("x")})}}).
  Dataset FlatMap(Outputs outputs) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset FlatMap(F&& f) const {
    return FlatMap(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  // Parses a tf.train.Example. Input: x, bytes []. Output: a component for each
  // feature: bytes, int64 or float32, of the shape given. DataLoss: the message
  // is damaged, or a feature is missing or has another size.
  // Example: ParseExample({{"image", DType::kBytes, {}},
  //                        {"ids", DType::kInt64, {kUnknownDim}}}).
  Dataset ParseExample(Features features) const;
  // The same for a tf.train.SequenceExample; each feature of step.sequence has
  // the number of its steps as a first dimension more.
  Dataset ParseSequenceExample(ParseSequenceExampleStep step) const;
  // Decodes JPEG, PNG or WebP. Input: options.component, bytes []. Output: it
  // becomes uint8 [?, ?, channels]. DataLoss: not an image, or corrupt.
  Dataset DecodeImage(DecodeImageStep options = {}) const;
  // Scales an image. Input: options.component, uint8 [h, w, c]. Output: uint8
  // [height, width, c]. Example: Resize(224, 224, {.component = "left"}).
  Dataset Resize(int64_t height, int64_t width, ResizeStep options = {}) const;
  // Mirrors an image with options.probability. Input and output:
  // options.component, T [h, w, c].
  Dataset RandomFlip(RandomFlipStep options = {}) const;

  // With Policy::kSkip, leaves out the elements for which the source or a step
  // before this one failed because of the data (DataLoss); Reader::skipped
  // counts them. Input and output: any element.
  // Example: OnError({.policy = OnErrorStep::Policy::kSkip, .cap = 100}).
  Dataset OnError(OnErrorStep step) const;

  // Runs the steps before it once for each element. Their results are kept in
  // the memory of each worker, or in a folder, and used in every later pass and
  // epoch. Input and output: any element. Random steps before it keep the
  // numbers of the first pass.
  Dataset Cache(CacheStep options = {}) const;

  // ---- steps on the sequence

  // A uniform permutation of all elements, another one in each epoch and in
  // each pass of a later Repeat. O(1) memory. `seed` replaces the dataset's.
  Dataset Shuffle(std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes each run of `window` elements. Reading stays nearly in order.
  Dataset ShuffleWindow(int64_t window,
                        std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes blocks of `block` records, then the elements of each `window`
  // blocks (default: 8) that stand together.
  Dataset ShuffleBlocks(int64_t block, std::optional<int64_t> window = {},
                        std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes the files; records of one file keep their order.
  Dataset ShuffleFiles(std::optional<uint64_t> seed = std::nullopt) const;
  // Stacks `size` elements. Output: T […] → T [size, …], or [?, …] as the last
  // batch may be short. DataLoss if rows differ in shape: use PaddedBatch or
  // RaggedBatch. Example: Batch(32, {.drop_remainder = true}).
  Dataset Batch(int64_t size, BatchOptions options = {}) const;
  // Batches whose shorter rows are padded. Output: T [size, longest, …], or the
  // shape of options.padding. DataLoss if a row is longer than that shape.
  // Example: PaddedBatch(8, {.padding = {{"tokens", Shape{128}, -1}}}).
  Dataset PaddedBatch(int64_t size, PaddedBatchOptions options = {}) const;
  // Joins `size` elements along their first axes. Output: T [n, …] → T [sum of
  // n, …] and <name>_offsets, int64 [size + 1]: row k is [offsets[k],
  // offsets[k + 1]). Scalars are stacked.
  Dataset RaggedBatch(int64_t size, BatchOptions options = {}) const;
  // Each row along the first axis becomes an element. Output: T [n, …] → n
  // elements T […].
  Dataset Unbatch() const;
  // Batches of another size. Output: T [n, …] → T [size, …].
  Dataset Rebatch(int64_t size, BatchOptions options = {}) const;
  // Stacks elements w * shift, w * shift + stride, … for w = 0, 1, … Output:
  // T […] → T [size, …]; windows at the end may be short.
  // Example: Range(5).Window(3, {.shift = 1}) → [0 1 2], [1 2 3], [2 3 4], ….
  Dataset Window(int64_t size, WindowOptions options = {}) const;
  // Padded batches of elements of similar length (steps.h).
  Dataset BucketBySequenceLength(BucketBySequenceLengthStep step) const;
  // Batches of at most step.tokens tokens (steps.h).
  Dataset TokenBatch(TokenBatchStep step) const;
  // Sequences joined to rows of step.length tokens. Output: T [n, …] → T
  // [length, …], and segment_ids and positions, int32 [length] (steps.h).
  Dataset Pack(PackStep step) const;
  // `count` passes over all elements; without a count, infinite.
  Dataset Repeat(std::optional<int64_t> count = std::nullopt) const;
  // The first `count` elements, and all but these.
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  // The elements index, index + count, index + 2 * count, …
  Dataset Shard(int64_t count, int64_t index) const;
  // Adds the element's place as the first component, options.component, int64
  // []. A single unnamed component gets the name x.
  Dataset Enumerate(EnumerateStep options = {}) const;

  // Any step by its YAML name, with options by their YAML names.
  // InvalidArgument: no such step or option, or a value of another type.
  // Example: Apply("resize", {{"height", 224}, {"width", 224}}).
  absl::StatusOr<Dataset> Apply(const std::string& name,
                                const StepOptions& options) const;
  absl::StatusOr<Dataset> Apply(const std::string& name) const;

  // ---- options

  // The seed of all random numbers. Default: each reader draws one.
  Dataset WithSeed(uint64_t seed) const;
  // Default: Order::kDeterministic.
  Dataset WithOrder(Order order) const;
  // Default: ProcessingMode::kDynamic. No effect without a service.
  Dataset WithProcessingMode(ProcessingMode mode) const;

  // Private to the library.
  const Graph& graph() const { return *graph_; }

 private:
  Dataset With(Step step) const;

  std::shared_ptr<const Graph> graph_;
};

// The value of an option in StepOptions. An integer stands for a double, too.
using OptionVariant =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>, Expr, Outputs,
                 Features, std::vector<Padding>, Compression,
                 std::vector<SourceField>, std::vector<Dataset>>;
struct OptionValue : OptionVariant {
  using OptionVariant::OptionVariant;
  // NOLINTBEGIN(google-explicit-constructor): {"method", "nearest"}
  OptionValue(const char* text) : OptionVariant(std::string(text)) {}
  OptionValue(int number) : OptionVariant(int64_t{number}) {}
  // NOLINTEND
};

// ---- functions of expressions. docs/expressions.md lists all functions; those
// without a name here are Expr::Apply("name", {arguments}).

// The value as another dtype. Example: Cast(Expr::Named("x"), DType::kFloat32).
Expr Cast(Expr value, DType dtype);
// if_true where the condition, bool, is true, else if_false.
Expr Where(Expr condition, Expr if_true, Expr if_false);
// The quotient, rounded down, as Python's //.
Expr FloorDivide(Expr a, Expr b);
// array[index] along the first axis; a negative index counts from the end.
Expr GetItem(Expr array, int64_t index);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_DATASET_H_
