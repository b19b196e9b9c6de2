#ifndef FEEDMILL_CORE_DEFINITION_DATASET_H_
#define FEEDMILL_CORE_DEFINITION_DATASET_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/expr.h"
#include "core/dataset/graph.h"

namespace feedmill {

// The options of a step or source by their names, for Dataset::Apply and
// Dataset::From.
using OptionVariant =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>, Expr, Outputs,
                 Features, std::vector<Padding>, Compression,
                 std::vector<SourceField>, std::vector<Graph>>;
struct OptionValue : OptionVariant {
  using OptionVariant::OptionVariant;
  // NOLINTBEGIN(google-explicit-constructor): {"method", "nearest"}
  OptionValue(const char* text) : OptionVariant(std::string(text)) {}
  OptionValue(int number) : OptionVariant(int64_t{number}) {}
  // NOLINTEND
};
using StepOptions = std::map<std::string, OptionValue>;

struct BatchOptions {
  bool drop_remainder = false;  // leave out a last batch that is not full
};
struct PaddedBatchOptions {
  bool drop_remainder = false;
  std::vector<Padding> padding = {};  // absent: the longest's shape, zeros
};
struct WindowOptions {
  int64_t shift = 0;  // 0: the size
  int64_t stride = 1;
  bool drop_remainder = false;
};

struct InterleaveOptions {
  int64_t cycle_length = 0;  // inputs that take turns; 0: all
  int64_t block_length = 1;  // elements a turn
};

// A pipeline, built in C++: what to read and which steps to run on it. Each
// method returns a new Dataset with one step more and leaves this one as it is;
// nothing is read, checked or run before a reader gets it. Every method is the
// YAML step of its name in snake_case (docs/steps.md).
//
//   Dataset photos =
//       Dataset::Images({"/data/photos/*/*.jpg"})
//           .Shuffle()
//           .DecodeImage()
//           .Resize(224, 224)
//           .RandomFlip()
//           .Map({{"image", Expr::Named("image")},
//                 {"label", Expr::Named("label")}})
//           .Batch(32, {.drop_remainder = true})
//           .Repeat();
//
//   Dataset odd_squares = Dataset::Range(10)
//                             .Map([](Expr x) { return x * x; })
//                             .Filter([](Expr x) { return x % 2 == 1; });
//
// A function given to Map or Filter is called once, here, with the expression
// "x" (the single unnamed component); what it returns travels to the workers.
// Operators and Apply, Cast, Where … below build expressions; an `if` on an
// Expr does not compile, Where chooses for each element.
//
// A value; thread-compatible. Wrong arguments (a negative count, a component
// that is not there) are errors of the reader, which names the step.
class Dataset {
 public:
  using Outputs = std::vector<std::pair<std::string, Expr>>;
  using ImageLabel = ImagesSource::Label;
  using MixtureStop = MixtureSource::Stop;

  // ---- sources
  // start, start + step, … below stop (above it for a negative step): int64.
  static Dataset Range(int64_t start, int64_t stop, int64_t step = 1);
  static Dataset Range(int64_t stop) { return Range(0, stop); }
  // Files are names, globs or folders. A relative one is relative to the
  // directory that the reader names (its own working directory by default).
  static Dataset TfRecord(std::vector<std::string> files,
                          Compression compression = Compression::kByName);
  static Dataset Text(std::vector<std::string> files,
                      Compression compression = Compression::kByName);
  static Dataset Images(std::vector<std::string> files,
                        ImageLabel label = ImageLabel::kFolder);
  // With the fields, compression and other values that sources.h explains:
  // Dataset::Csv({"people.csv"}, {.delimiter = ";"}). The `files` of the
  // options are not used. Fields that are not declared are found out from the
  // first records.
  static Dataset FixedLength(std::vector<std::string> files,
                             FixedLengthSource options);
  static Dataset Npy(std::vector<std::string> files, NpySource options = {});
  static Dataset Jsonl(std::vector<std::string> files,
                       JsonlSource options = {});
  static Dataset Csv(std::vector<std::string> files, CsvSource options = {});
  static Dataset WebDataset(std::vector<std::string> files,
                            WebDatasetSource options = {});
  static Dataset Parquet(std::vector<std::string> files,
                         ParquetSource options = {});
  static Dataset Arrow(std::vector<std::string> files,
                       ArrowSource options = {});
  // Any source, by its name in YAML: also one that was registered from outside
  // (RegisterSource in core/operators/registry.h). As Apply.
  // Example: Dataset::From("text", {{"files", std::vector<std::string>{"a"}}}).
  static absl::StatusOr<Dataset> From(const std::string& name,
                                      const StepOptions& options = {});
  // Several datasets as one; sources.h says how. Their options are not used.
  static Dataset Concatenate(const std::vector<Dataset>& inputs);
  static Dataset Zip(const std::vector<Dataset>& inputs);
  static Dataset Interleave(const std::vector<Dataset>& inputs,
                            InterleaveOptions options = {});
  static Dataset Mixture(const std::vector<Dataset>& inputs,
                         std::vector<double> weights,
                         MixtureStop stop = MixtureStop::kFirstExhausted);
  // A pipeline that was read from text.
  explicit Dataset(Graph graph) : graph_(std::move(graph)) {}

  // ---- steps on each element
  // The element becomes f(x), unnamed.
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Map(F&& f) const {
    return Map(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  // The element becomes exactly these components, in this order.
  Dataset Map(Outputs outputs) const;
  // Keeps the elements for which the predicate, one bool, is true.
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Filter(F&& f) const {
    return Filter(Expr(std::forward<F>(f)(Expr::Named("x"))));
  }
  Dataset Filter(Expr predicate) const;
  // The same as Map, and then an element for each row along the first axis.
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset FlatMap(F&& f) const {
    return FlatMap(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  Dataset FlatMap(Outputs outputs) const;
  // Each single bytes component is a tf.train.Example.
  Dataset ParseExample(Features features) const;
  // Or a tf.train.SequenceExample.
  Dataset ParseSequenceExample(ParseSequenceExampleStep step) const;
  Dataset DecodeImage(DecodeImageStep options = {}) const;
  Dataset Resize(int64_t height, int64_t width, ResizeStep options = {}) const;
  Dataset RandomFlip(RandomFlipStep options = {}) const;

  // With {.policy = OnErrorStep::Policy::kSkip}: leaves out the elements whose
  // making failed so far, for a reason that lies in the data (a corrupt record,
  // an image that is none, a division by zero), instead of failing the reading;
  // Reader::skipped counts them.
  Dataset OnError(OnErrorStep step) const;

  // Steps before it run once for each element; what they made in the first
  // pass and iteration is kept, by each worker, and given in all of them.
  Dataset Cache(CacheStep options = {}) const;

  // ---- steps on the sequence
  // A uniform permutation of all elements, another one in each pass of a
  // Repeat that stands after it. `seed` replaces the pipeline's for it.
  Dataset Shuffle(std::optional<uint64_t> seed = std::nullopt) const;
  // The same within runs of `window` elements only: they come from anywhere
  // in one pass, and nothing needs to be read from out of order.
  Dataset ShuffleWindow(int64_t window,
                        std::optional<uint64_t> seed = std::nullopt) const;
  // Blocks of `block` records change places, and the elements of `window`
  // blocks that then stand together are mixed: reading is nearly in order.
  Dataset ShuffleBlocks(int64_t block, std::optional<int64_t> window = {},
                        std::optional<uint64_t> seed = std::nullopt) const;
  // The files change places; the records of one do not.
  Dataset ShuffleFiles(std::optional<uint64_t> seed = std::nullopt) const;
  Dataset Batch(int64_t size, BatchOptions options = {}) const;
  Dataset PaddedBatch(int64_t size, PaddedBatchOptions options = {}) const;
  Dataset RaggedBatch(int64_t size, BatchOptions options = {}) const;
  Dataset Unbatch() const;
  Dataset Rebatch(int64_t size, BatchOptions options = {}) const;
  Dataset Window(int64_t size, WindowOptions options = {}) const;
  Dataset BucketBySequenceLength(BucketBySequenceLengthStep step) const;
  Dataset TokenBatch(TokenBatchStep step) const;
  Dataset Pack(PackStep step) const;
  // Without a count, endless.
  Dataset Repeat(std::optional<int64_t> count = std::nullopt) const;
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  // The elements index, index + count, index + 2 * count, …
  Dataset Shard(int64_t count, int64_t index) const;
  // A single unnamed component is named x by it.
  Dataset Enumerate(EnumerateStep options = {}) const;

  // ---- any step, by its name in YAML: also one that was registered from
  // outside (RegisterStep in core/operators/registry.h).
  // InvalidArgument for an unknown name or option, or a value of another type.
  // Example: dataset.Apply("resize", {{"height", 224}, {"width", 224}}).
  absl::StatusOr<Dataset> Apply(const std::string& name,
                                const StepOptions& options = {}) const;

  // ---- options
  // Makes every random choice reproducible; absent, the reader draws a seed.
  Dataset WithSeed(uint64_t seed) const;
  Dataset WithOrder(Order order) const;
  Dataset WithProcessingMode(Options::ProcessingMode mode) const;

  const Graph& graph() const { return graph_; }

 private:
  Dataset With(Step step) const;

  Graph graph_;
};

// ---- functions of expressions (docs/expressions.md lists all; any other is
// Expr::Apply("name", {arguments}))
Expr Cast(Expr value, DType dtype);
Expr Where(Expr condition, Expr if_true, Expr if_false);
Expr FloorDivide(Expr a, Expr b);  // Python's //
Expr GetItem(Expr array, int64_t index);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_DATASET_H_
