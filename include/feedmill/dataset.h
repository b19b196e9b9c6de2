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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"
#include "feedmill/endpoint.h"
#include "feedmill/expr.h"

// Datasets: a value that says which files to read and which steps to run on
// their records.
//
//   feedmill::Dataset houses = feedmill::Dataset::Csv({"houses.csv"})
//                                  .Filter(feedmill::Expr::Named("rooms") > 1)
//                                  .Shuffle()
//                                  .Batch(32);
//   feedmill::Loader loader(houses);  // loader.h reads it
//
// The options of sources and steps are in dataset_options.h, expressions in
// expr.h. At the end of this header: files of stores, and datasets that a
// dispatcher keeps under an id.

// Private to the library.
namespace feedmill {
class FunctionRegistry;
struct Graph;
class Step;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

struct OptionValue;
// The options of a step or source by their names.
using StepOptions = std::map<std::string, OptionValue>;

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
// Errors: see Read, which names the step:
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
  //
  // Errors of each source that has files:
  //   NotFound         a file is missing, or nothing matches a glob
  //   InvalidArgument  the list is empty, files are compressed in different
  //                    ways, or no field can be inferred
  //   DataLoss         a record is damaged, or a compressed file is

  // Makes start, start + step, … below `stop` (above it for a negative step).
  // Output: x, int64 [].
  // Errors: InvalidArgument if `step` is 0.
  // Example:
  //   Dataset::Range(0, 10, 3)
  //   // → 0, 3, 6, 9
  static Dataset Range(int64_t start, int64_t stop, int64_t step = 1);
  static Dataset Range(int64_t stop) { return Range(0, stop); }
  // Rows of a table in this process. The dataset views the table's buffers,
  // which must not change. A service gets a copy of the table with the
  // pipeline: at most 256 MiB, and 15 MiB packed by zstd.
  // Output: the components of the table's spec.
  // Errors, at once: InvalidArgument if a buffer does not fit the spec.
  // Reading: FailedPrecondition if a service takes no table of that size.
  // Example:
  //   Dataset::Memory({.spec = std::make_shared<ElementSpec>(
  //                        ElementSpec{{{"n", DType::kInt32, {}}}}),
  //                    .rows = 3,
  //                    .columns = {MakeColumn<int32_t>({5, 6, 7})}})
  //   // → {"n":5}, {"n":6}, {"n":7}
  static absl::StatusOr<Dataset> Memory(Chunk table);
  // Records of TFRecord files.
  // Output: x, bytes [].
  // Errors: DataLoss if a record has a wrong checksum.
  // Example:
  //   Dataset::TfRecord({"train-*.tfrecord"})
  //       .ParseExample({{"id", DType::kInt64, {}}})
  static Dataset TfRecord(std::vector<std::string> files,
                          Compression compression = Compression::kByName);
  // Lines of text files, without line ends.
  // Output: x, bytes [].
  // Errors: only as all sources.
  // Example:
  //   Dataset::Text({"books/*.txt.gz"}).Batch(64)
  static Dataset Text(std::vector<std::string> files,
                      Compression compression = Compression::kByName);
  // Image files, not decoded. The label is the folder's name if that is an
  // integer, else its index among all folder names, sorted, or in `classes`.
  // Output: image, bytes []; label, int64 []; path, bytes [].
  // Errors: NotFound if a folder or glob has no image.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"}).DecodeImage().Resize(224, 224)
  static Dataset Images(std::vector<std::string> files,
                        ImageLabel label = ImageLabel::kFolder,
                        std::vector<std::string> classes = {});
  // The images that a column of a table names, in its order, not decoded. A
  // path is relative to the table's folder. `table`: as for Lookup.
  // Output: image, bytes []; then the columns of the table.
  // Errors: InvalidArgument if the column is missing, or a name is empty.
  // NotFound if an image is missing.
  // Example:
  //   Dataset::ImageTable(Dataset::Csv({"train.csv"})).DecodeImage()
  static Dataset ImageTable(const Dataset& table, std::string column = "path");
  // Records of options.record_bytes bytes.
  // Output: x, bytes [].
  // Errors: InvalidArgument if record_bytes is below 1. DataLoss if the bytes
  // of a file between header and footer are no multiple of it.
  // Example:
  //   Dataset::FixedLength({"mnist.bin"}, {.record_bytes = 785})
  static Dataset FixedLength(std::vector<std::string> files,
                             FixedLengthSource options);
  // Rows of .npy and .npz arrays along the first axis.
  // Output: x of the array's dtype and remaining shape. Of .npz files and
  // structured dtypes: a component for each member.
  // Errors: DataLoss if a file has another dtype or shape than the first one,
  // or if arrays of one .npz differ in their number of rows.
  // Example:
  //   Dataset::Npy({"features-{00..31}.npy"}).Batch(256)
  static Dataset Npy(std::vector<std::string> files, NpySource options = {});
  // Lines that are JSON objects.
  // Output: a component for each member: bytes, bool or a number, as a scalar
  // or a list.
  // Errors: DataLoss if a line is no object, or a member has another type.
  // Example:
  //   Dataset::Jsonl({"events.jsonl"},
  //                  {.fields = {{"user", DType::kBytes, {}},
  //                              {"clicks", DType::kInt64, {kUnknownDim}}}})
  static Dataset Jsonl(std::vector<std::string> files,
                       JsonlSource options = {});
  // Rows of CSV files.
  // Output: a component for each column: bytes [], bool [] or a number [].
  // Errors: InvalidArgument if two columns have one name. DataLoss if a row has
  // another number of columns, or a value has another type.
  // Example:
  //   Dataset::Csv({"people.csv"}, {.delimiter = ";", .missing = {"", "NA"}})
  static Dataset Csv(std::vector<std::string> files, CsvSource options = {});
  // Samples of tar files: members that stand together and have one name up to
  // its first '.'.
  // Output: a component for each extension, bytes [], and `__key__`, bytes [].
  // Declared fields may be numbers, e.g. of `cls` files.
  // Errors: DataLoss if a sample lacks a member without a default, or an
  // archive ends early.
  // Example:
  //   Dataset::WebDataset({"shard-{000..999}.tar"},
  //                       {.fields = {{"jpg", DType::kBytes, {}},
  //                                   {"cls", DType::kInt64, {}}}})
  static Dataset WebDataset(std::vector<std::string> files,
                            WebDatasetSource options = {});
  // Rows of Parquet files.
  // Output: a component for each column; `a.b` for the member b of a struct a.
  // Errors: FailedPrecondition without the plugin libfeedmill_arrow.so
  // (docs/steps.md). InvalidArgument for a column of maps, unions or lists of
  // lists that `columns` does not leave out. DataLoss for each row of a damaged
  // row group.
  // Example:
  //   Dataset::Parquet({"year=*/*.parquet"},
  //                    {.columns = {"text", "score"}, .partitions = true})
  static Dataset Parquet(std::vector<std::string> files,
                         ParquetSource options = {});
  // Rows of Arrow IPC (Feather) files and streams.
  // Output and errors: see Parquet. With `memory_map`, a local read copies
  // no values, and no process may change the files meanwhile (docs/steps.md).
  // Example:
  //   Dataset::Arrow({"train-*.arrow"}, {.columns = {"text"}})
  static Dataset Arrow(std::vector<std::string> files,
                       ArrowSource options = {});
  // Samples of MDS shards (MosaicML Streaming). `files`: the folder of a data
  // set, its index.json, or shards.
  // Output: a component for each column (docs/semantics/sources.md).
  // Errors: InvalidArgument if an index is none of MDS. DataLoss if a value has
  // another type, rank or shape than its component.
  // Example:
  //   Dataset::Mds({"/data/c4"}).Shuffle().Batch(16)
  static Dataset Mds(std::vector<std::string> files, MdsSource options = {});
  // Entries of LMDB databases, in the order of their keys.
  // Output: key, bytes []; value, bytes [].
  // Errors: DataLoss if a page is damaged, or the main database holds others.
  // Example:
  //   Dataset::Lmdb({"imagenet.lmdb"}).DecodeImage({.component = "value"})
  static Dataset Lmdb(std::vector<std::string> files);
  // Records of ArrayRecord files, as Grain and TensorFlow Datasets use them.
  // Output: bytes [], unnamed.
  // Errors: DataLoss for a file without the index that ArrayRecordWriter writes
  // when it is closed. DataLoss for each record of a damaged chunk.
  // Example:
  //   Dataset::ArrayRecord({"train.array_record-*"}).Shuffle().Batch(16)
  static Dataset ArrayRecord(std::vector<std::string> files);
  // Any source by its YAML name, with options by their YAML names.
  // Output: the source's.
  // Errors, at once: InvalidArgument for a source or option that does not
  // exist, or a value of another type.
  // Example:
  //   Dataset::From("range", {{"stop", 3}})
  //   // → 0, 1, 2
  static absl::StatusOr<Dataset> From(const std::string& name,
                                      const StepOptions& options);
  static absl::StatusOr<Dataset> From(const std::string& name);

  // ---- datasets of datasets. The inputs' options (seed, order) do not count.
  // Errors of each: InvalidArgument if there is no input. All but Zip need
  // inputs whose elements have the same names in the same order, dtypes and
  // ranks, and return InvalidArgument for others.

  // One input after the other.
  // Input: any elements, alike.
  // Output: as the inputs; a dimension in which inputs differ is `?`.
  // Errors: InvalidArgument if an input before the last one is infinite.
  // Example:
  //   Dataset::Concatenate({Dataset::Range(2), Dataset::Range(8, 10)})
  //   // → 0, 1, 8, 9
  static Dataset Concatenate(const std::vector<Dataset>& inputs);
  // One element of each input, their components side by side. Ends with the
  // shortest input.
  // Input: any elements whose components have names.
  // Output: the components of all inputs, in the order of the inputs.
  // Errors: InvalidArgument if a component has no name, or two have one name.
  // Example:
  //   Dataset::Zip({Dataset::Range(3).Map({{"a", Expr::Named("x")}}),
  //                 Dataset::Range(7, 9).Map({{"b", Expr::Named("x")}})})
  //   // → {"a":0,"b":7}, {"a":1,"b":8}
  static Dataset Zip(const std::vector<Dataset>& inputs);
  // options.block_length elements of each of options.cycle_length inputs in
  // turn. When an input ends, the next one that has not begun takes its place.
  // Input: any elements, alike.
  // Output: as the inputs; a dimension in which inputs differ is `?`.
  // Errors: InvalidArgument if cycle_length is below 0, block_length below 1.
  // Example:
  //   Dataset::Interleave({Dataset::Range(4), Dataset::Range(10, 13)},
  //                       {.block_length = 2})
  //   // → 0, 1, 10, 11, 2, 3, 12
  static Dataset Interleave(const std::vector<Dataset>& inputs,
                            InterleaveOptions options = {});
  // Elements of each input in proportion to its weight: after any n elements,
  // an input with the share w has given floor(n * w) or ceil(n * w). With a
  // measure, the next element is of the input that has given least for its
  // weight; of several, the first. So the sums of the elements' sizes are in
  // proportion, to within one element of each input. `changes` are numbers of
  // elements, or sums of sizes, after which the next weights hold; `weights`
  // then has one for each input and phase, phase by phase.
  // Input: any elements, alike.
  // Output: as the inputs; a dimension in which inputs differ is `?`.
  // Errors: InvalidArgument if a weight is not above 0, or if there are
  // more or fewer weights than inputs, or if there is no such component.
  // Example:
  //   Dataset::Mixture({Dataset::Range(4), Dataset::Range(100, 109)}, {2, 1})
  //   // → 0, 1, 100, 2, 3, 101
  static Dataset Mixture(const std::vector<Dataset>& inputs,
                         std::vector<double> weights,
                         MixtureStop stop = MixtureStop::kFirstExhausted,
                         MixtureMeasure measure = {},
                         std::vector<int64_t> changes = {});

  // ---- from YAML (docs/steps.md)

  // A pipeline's text. Relative names are relative to `directory`; if that is
  // "", to ReadOptions::directory.
  // Output: the pipeline's.
  // Errors, at once: InvalidArgument, which names line and column.
  // Example:
  //   Dataset::FromYaml("{source: {range: 3}, steps: [{map: 'x * x'}]}")
  //   // → 0, 1, 4
  static absl::StatusOr<Dataset> FromYaml(std::string_view text,
                                          const std::string& directory = "");
  // A pipeline's file. Relative names are relative to its folder.
  // Output: the pipeline's.
  // Errors, at once: see FromYaml; NotFound if there is no such file.
  // Example:
  //   Dataset::FromYamlFile("houses.yaml")
  static absl::StatusOr<Dataset> FromYamlFile(const std::string& path);

  // Private to the library.
  Dataset(Graph graph);  // NOLINT(google-explicit-constructor)

  // ---- steps on each element

  // The element becomes these components, in this order; others are dropped.
  // The function form is called once, here, with Expr::Named("x"), and the
  // expression that it returns travels to the workers. An `if` on an Expr does
  // not compile: use Where.
  // Input: any element.
  // Output: the dtype and shape of each expression (docs/expressions.md). A
  // single unnamed output is x.
  // Errors: InvalidArgument if two outputs have one name, or a function does
  // not exist or does not take its arguments. DataLoss for a division by zero
  // of integers, a text that is no number, and the like.
  // Example:
  //   Dataset::Range(3).Map({{"half", Expr::Named("x") / 2},
  //                          {"square", Expr::Named("x") * Expr::Named("x")}})
  //   // → {"half":0.0,"square":0}, {"half":0.5,"square":1}, …
  // Example:
  //   Dataset::Range(4).Map([](Expr x) { return x * x; })
  //   // → 0, 1, 4, 9
  Dataset Map(Outputs outputs) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Map(F&& f) const {
    return Map(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  // Adds these components, or replaces components of their names. Keeps the
  // others.
  // Expressions name components of the input, also replaced ones.
  // Input: any element.
  // Output: the components of the input, a replaced one at its place, then the
  // new ones. A single unnamed component is x.
  // Errors: InvalidArgument if an output has no name. Errors of Map.
  // Example:
  //   Dataset::Range(3).WithColumns({{"half", Expr::Named("x") / 2}})
  //   // → {"x":0,"half":0.0}, {"x":1,"half":0.5}, {"x":2,"half":1.0}
  Dataset WithColumns(Outputs outputs) const;
  // Adds the columns of the row of a table whose key is the element's. A null
  // key is in no row. Workers keep the table in memory, at most 1 GiB of it.
  // `table`: a source without steps, of files or Memory.
  // Input: an element with a component `options.key`: an integer or bytes.
  // Output: the components of the input, then the columns. With
  // Unmatched::kNulls, the columns may be null.
  // Errors: InvalidArgument if a column is missing, has the name of a
  // component, or two rows have one key. DataLoss for a key that no row has,
  // with Unmatched::kError.
  // Example:
  //   Dataset::Csv({"clicks.csv"})
  //       .Lookup(Dataset::Parquet({"users.parquet"}), {.key = "user"})
  Dataset Lookup(const Dataset& table, LookupOptions options) const;
  // Keeps these components, in this order. Drops the others.
  // Input: an element that has them.
  // Output: these components.
  // Errors: InvalidArgument if a component is missing or named twice.
  // Example:
  //   Dataset::Parquet({"users.parquet"}).Select({"age", "name"})
  Dataset Select(std::vector<std::string> components) const;
  // Drops these components. Keeps the others.
  // Input: an element that has them.
  // Output: the other components, at least one.
  // Errors: InvalidArgument if a component is missing, or none stays.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"}).Drop({"path"})
  Dataset Drop(std::vector<std::string> components) const;
  // Gives components other names; pairs of an old and a new one.
  // Input: an element that has them.
  // Output: the components of the input, in their order.
  // Errors: InvalidArgument if a component is missing, or two have one name.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"}).Rename({{"label", "class"}})
  Dataset Rename(
      const std::vector<std::pair<std::string, std::string>>& names) const;
  // Keeps the elements for which the predicate is true.
  // Input: any element, for which the predicate is one bool [].
  // Output: as the input.
  // Errors: InvalidArgument if the predicate is no bool []. Errors of Map.
  // Example:
  //   Dataset::Range(9).Filter(Expr::Named("x") % 3 == 0)
  //   // → 0, 3, 6
  Dataset Filter(Expr predicate) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset Filter(F&& f) const {
    return Filter(Expr(std::forward<F>(f)(Expr::Named("x"))));
  }
  // Keeps about step.fraction of the elements, by the hash of a key
  // (dataset_options.h).
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument unless the fraction is within 0 to 1. Errors of
  // Map, for the key.
  // Example:
  //   Dataset::Parquet({"users.parquet"})
  //       .Sample({.fraction = 0.1, .by = {{"", Expr::Named("user")}}})
  Dataset Sample(SampleStep step) const;
  // Keeps one of several disjoint parts, by the hash of a key.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument unless the sum of the parts is 1, and `part` is the
  // index of one. Errors of Map, for the key.
  // Example:
  //   Dataset::Csv({"houses.csv"}).Split({.parts = {0.8, 0.2}, .part = 1})
  Dataset Split(SplitStep step) const;
  // Runs Map; then each row of the outputs along the first axis is an element.
  // Input: any element, for which each expression is T [n, …].
  // Output: n elements T […].
  // Errors: InvalidArgument if an expression is a scalar. DataLoss if outputs
  // differ in n. Errors of Map.
  // Example:
  //   Dataset::Text({"books/*.txt"})
  //       .FlatMap({{"word", Expr::Apply("split", {Expr::Named("x")})}})
  Dataset FlatMap(Outputs outputs) const;
  template <class F>
    requires std::is_invocable_r_v<Expr, F, Expr>
  Dataset FlatMap(F&& f) const {
    return FlatMap(Outputs{{"", std::forward<F>(f)(Expr::Named("x"))}});
  }
  // Parses a tf.train.Example.
  // Input: one component, bytes [].
  // Output: a component for each feature: bytes, int64 or float32, of the shape
  // given.
  // Errors: InvalidArgument for a feature of another dtype. DataLoss if the
  // message is damaged, or a feature is missing or has another size.
  // Example:
  //   Dataset::TfRecord({"train-*.tfrecord"})
  //       .ParseExample({{"image", DType::kBytes, {}},
  //                      {"ids", DType::kInt64, {kUnknownDim}}})
  Dataset ParseExample(Features features) const;
  // Parses a tf.train.SequenceExample.
  // Input: one component, bytes [].
  // Output: a component for each feature, as of ParseExample; each feature of
  // step.sequence has the number of its steps as a first dimension more.
  // Errors: see ParseExample.
  // Example:
  //   Dataset::TfRecord({"clips-*.tfrecord"})
  //       .ParseSequenceExample(
  //           {.context = {{"id", DType::kInt64, {}}},
  //            .sequence = {{"words", DType::kBytes, {}}}})
  Dataset ParseSequenceExample(ParseSequenceExampleStep step) const;
  // Decodes JPEG, PNG, WebP, GIF, BMP, PNM, TIFF, HEIF or AVIF; of several
  // images in a file the first one. TIFF needs the library libtiff on the
  // workers, HEIF and AVIF libheif.
  // Input: options.component, bytes [].
  // Output: that component becomes uint8 [?, ?, channels]; uint16 if
  // options.dtype says so.
  // Errors: InvalidArgument if channels is neither 1, 3 nor 4. DataLoss if the
  // bytes are no image, or a corrupt one.
  // Example:
  //   Dataset::Images({"scans/*/*.png"}).DecodeImage({.channels = 1})
  Dataset DecodeImage(DecodeImageStep options = {}) const;
  // Scales an image.
  // Input: options.component, uint8 [h, w, c].
  // Output: that component becomes uint8 [height, width, c].
  // Errors: InvalidArgument if a side is below 1, or the component is no uint8
  // image, or with antialias and kNearest. DataLoss if an image has no pixel,
  // or a side would be 0 or above 65535.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"})
  //       .DecodeImage()
  //       .Resize(224, 224, {.method = ResizeStep::Method::kNearest})
  Dataset Resize(int64_t height, int64_t width, ResizeStep options = {}) const;
  // The same by the length of one side, options.shorter or options.longer.
  // Output: that component becomes uint8 [?, ?, c].
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"}).DecodeImage().Resize({.shorter =
  //   256})
  Dataset Resize(ResizeStep options) const;
  // Mirrors an image with options.probability.
  // Input: options.component, T [h, w, c], T a number or bool.
  // Output: as the input.
  // Errors: InvalidArgument if the probability is not within 0 to 1.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"})
  //       .DecodeImage()
  //       .RandomFlip({.probability = 0.25})
  Dataset RandomFlip(RandomFlipStep options = {}) const;

  // With Policy::kSkip, leaves out the elements for which the source or a step
  // before this one failed because of the data (DataLoss); Reader::skipped
  // counts them.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument after a step that runs in the client, or with a
  // second OnError. DataLoss if more than step.cap elements are left out.
  // Example:
  //   Dataset::Range(3)
  //       .Map([](Expr x) { return FloorDivide(6, x); })
  //       .OnError({OnErrorStep::Policy::kSkip, /*cap=*/100, {}})
  //   // → 6, 3
  Dataset OnError(OnErrorStep step) const;

  // Runs the steps before it once for each element. Their results are kept in
  // the memory of each worker, or in a folder, and used in every later pass and
  // epoch. Random steps before it keep the numbers of the first pass.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument after a step that runs in the client or after an
  // infinite Repeat. A damaged file of the cache is no error: its elements are
  // made again.
  // Example:
  //   Dataset::Images({"photos/*/*.jpg"})
  //       .DecodeImage()
  //       .Resize(224, 224)
  //       .Cache({.path = "/scratch/photos"})
  //       .Shuffle()
  //       .RandomFlip()
  Dataset Cache(CacheStep options = {}) const;

  // ---- steps on the sequence

  // A uniform permutation of all elements, another one in each epoch and in
  // each pass of a later Repeat. O(1) memory. `seed` replaces the dataset's.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument after a step that runs in the client, after an
  // infinite Repeat, or of compressed files: use ShuffleWindow there.
  // Example:
  //   Dataset::Range(10).Shuffle(/*seed=*/7)
  //   // → 0, 5, 6, 9, 4, 7, …
  Dataset Shuffle(std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes each run of `window` elements. Reading stays nearly in order.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument if `window` is below 1.
  // Example:
  //   Dataset::Range(10).ShuffleWindow(4, /*seed=*/7)
  //   // → 0, 1, 2, 3, 6, 4, …
  Dataset ShuffleWindow(int64_t window,
                        std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes blocks of `block` records, then the elements of each `window`
  // blocks (default: 8) that stand together.
  // Input: any element.
  // Output: as the input.
  // Errors: see Shuffle.
  // Example:
  //   Dataset::Range(12).ShuffleBlocks(3, /*window=*/2, /*seed=*/7)
  //   // → 4, 0, 1, 3, 2, 5, …
  Dataset ShuffleBlocks(int64_t block, std::optional<int64_t> window = {},
                        std::optional<uint64_t> seed = std::nullopt) const;
  // Permutes the files; records of one file keep their order.
  // Input: any element of a source with files. It is the first step.
  // Output: as the input.
  // Errors: InvalidArgument after another step, or of a source without files.
  // Example:
  //   Dataset::Text({"logs/*.gz"}).ShuffleFiles()
  Dataset ShuffleFiles(std::optional<uint64_t> seed = std::nullopt) const;
  // Stacks `size` elements.
  // Input: T […], of the same shape in all elements.
  // Output: T [size, …], or [?, …] as the last batch may be short.
  // Errors: InvalidArgument if `size` is below 1. DataLoss if rows differ in
  // shape: use PaddedBatch or RaggedBatch.
  // Example:
  //   Dataset::Range(5).Batch(2)
  //   // → [0,1], [2,3], [4]
  Dataset Batch(int64_t size, BatchOptions options = {}) const;
  // Batches whose shorter rows are padded.
  // Input: T [n, …].
  // Output: T [size, longest, …], or the shape of options.padding.
  // Errors: InvalidArgument for a padding that does not fit its component.
  // DataLoss if a row is longer than the shape given.
  // Example:
  //   Dataset::Range(3)
  //       .Window(2, {.shift = 1})  // [0,1], [1,2], [2]
  //       .PaddedBatch(3, {.padding = {{"x", Shape{2}, -1}}})
  //   // → [[0,1],[1,2],[2,-1]]
  Dataset PaddedBatch(int64_t size, PaddedBatchOptions options = {}) const;
  // Joins `size` elements along their first axes.
  // Input: T [n, …]; scalars are stacked.
  // Output: T [sum of n, …] and <name>_offsets, int64 [size + 1]: row k is
  // [offsets[k], offsets[k + 1]).
  // Errors: InvalidArgument if all components are scalars. DataLoss if rows
  // differ beyond their first dimension.
  // Example:
  //   Dataset::Range(3).Window(2, {.shift = 1}).RaggedBatch(3)
  //   // → {"x":[0,1,1,2,2],"x_offsets":[0,2,4,5]}
  Dataset RaggedBatch(int64_t size, BatchOptions options = {}) const;
  // Each row along the first axis becomes an element.
  // Input: T [n, …], with one n for all components.
  // Output: n elements T […].
  // Errors: InvalidArgument if a component is a scalar. DataLoss if components
  // differ in n.
  // Example:
  //   Dataset::Range(5).Batch(3).Unbatch()
  //   // → 0, 1, 2, 3, 4
  Dataset Unbatch() const;
  // Batches of another size.
  // Input: T [n, …], with one n for all components.
  // Output: T [size, …]; the last batch may be short.
  // Errors: see Unbatch and Batch.
  // Example:
  //   Dataset::Range(6).Batch(3).Rebatch(2)
  //   // → [0,1], [2,3], [4,5]
  Dataset Rebatch(int64_t size, BatchOptions options = {}) const;
  // Stacks the elements w * shift, w * shift + stride, … for w = 0, 1, …
  // Input: T […], of the same shape in all elements.
  // Output: T [size, …]; windows at the end may be short.
  // Errors: see Batch. InvalidArgument if a window spans more than 2^32
  // elements.
  // Example:
  //   Dataset::Range(5).Window(3, {.shift = 1})
  //   // → [0,1,2], [1,2,3], [2,3,4], [3,4], [4]
  Dataset Window(int64_t size, WindowOptions options = {}) const;
  // Padded batches of elements of similar length (dataset_options.h).
  // Input: any element; step.component is T [n, …], bytes [] or an integer [].
  // Output: T [batch size, longest, …], or the shape of step.padding.
  // Errors: see PaddedBatch. InvalidArgument if boundaries do not
  // increase, or batch_sizes are not one more.
  // Example:
  //   Dataset::Range(4)
  //       .Window(2, {.shift = 1})  // [0,1], [1,2], [2,3], [3]
  //       .BucketBySequenceLength({.boundaries = {2}, .batch_sizes = {4, 2}})
  //   // → [[0,1],[1,2]], [[3]], [[2,3]]
  Dataset BucketBySequenceLength(BucketBySequenceLengthStep step) const;
  // Batches of at most step.tokens tokens (dataset_options.h).
  // Input: any element; step.component is T [n, …], bytes [] or an integer [].
  // Output: see PaddedBatch or RaggedBatch, by step.layout.
  // Errors: see that batch. DataLoss if one element has more tokens.
  // Example:
  //   Dataset::Range(4).Window(2, {.shift = 1}).TokenBatch({.tokens = 4})
  //   // → [[0,1],[1,2]], [[2,3],[3,0]]
  Dataset TokenBatch(TokenBatchStep step) const;
  // Sequences joined to rows of step.length tokens (dataset_options.h).
  // Input: T [n, …], with one n for all components.
  // Output: T [length, …], and segment_ids and positions, int32 [length].
  // Errors: InvalidArgument if a component is a scalar, or for an option of
  // another method. DataLoss if a sequence is longer than a row and step.longer
  // is kError, or if components differ in n.
  // Example:
  //   Dataset::Range(2).Window(2, {.shift = 1}).Pack({.length = 4})
  //   // → {"x":[0,1,1,0],"segment_ids":[1,1,2,0],"positions":[0,1,0,0]}
  Dataset Pack(PackStep step) const;
  // `count` passes over all elements; without a count, infinite.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument if `count` is negative, or after an infinite
  // Repeat.
  // Example:
  //   Dataset::Range(2).Repeat(2)
  //   // → 0, 1, 0, 1
  Dataset Repeat(std::optional<int64_t> count = std::nullopt) const;
  // The first `count` elements.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument if `count` is negative.
  // Example:
  //   Dataset::Range(10).Take(3)
  //   // → 0, 1, 2
  Dataset Take(int64_t count) const;
  // All elements but the first `count`.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument if `count` is negative.
  // Example:
  //   Dataset::Range(6).Skip(3)
  //   // → 3, 4, 5
  Dataset Skip(int64_t count) const;
  // The elements index, index + count, index + 2 * count, …
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument unless 0 <= index < count.
  // Example:
  //   Dataset::Range(7).Shard(3, 1)
  //   // → 1, 4
  Dataset Shard(int64_t count, int64_t index) const;
  // The elements with these indexes, in the order of the input.
  // Input: any element.
  // Output: as the input.
  // Errors: InvalidArgument if an index is negative or not above the index
  // before it, or if the input has no such element.
  // Example:
  //   Dataset::Range(10, 20).Subset({1, 5})
  //   // → 11, 15
  Dataset Subset(std::vector<int64_t> indices) const;
  // Elements in proportion to weights, in a random order, other ones in each
  // epoch. An element is there floor(E) or ceil(E) times, E being its share of
  // the weights times options.count; the same holds for a class.
  // Input: any element, of a known number.
  // Output: as the input.
  // Errors: InvalidArgument if there is not one weight, or class, for each
  // element, or if all weights are 0. InvalidArgument also behind a step that
  // changes the number of elements.
  // Example:
  //   Dataset::Range(4).WeightedSample({.weights = {0, 1, 0, 0}, .count = 3})
  //   // → 1, 1, 1
  Dataset WeightedSample(WeightedSampleStep options) const;
  // Adds the element's place.
  // Input: any element. A single unnamed component gets the name x.
  // Output: options.component, int64 [], before the components of the input.
  // Errors: InvalidArgument if the input has a component of that name.
  // Example:
  //   Dataset::Range(2).Enumerate({.start = 10})
  //   // → {"index":10,"x":0}, {"index":11,"x":1}
  Dataset Enumerate(EnumerateStep options = {}) const;

  // Any step by its YAML name, with options by their YAML names.
  // Input and output: the step's.
  // Errors, at once: InvalidArgument for a step or option that does not exist,
  // or a value of another type.
  // Example:
  //   Dataset::Range(6).Apply("shard", {{"count", 2}, {"index", 1}})
  //   // → 1, 3, 5
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

// ---- files of stores

// Lets this program read http://, https://, s3://, gs:// and az:// names, with
// the keys and settings of the environment (docs/storage.md). Call it once,
// before the first file is read. InvalidArgument names a variable that is
// wrong.
//
//   if (absl::Status added = AddStores(); !added.ok()) return added;
//   Loader loader(Dataset::Csv({"https://host/houses.csv"}));
absl::Status AddStores();

// ---- datasets by id
//
// A dispatcher keeps datasets under an id, so that readers need not have the
// definition. With a work_dir, it keeps them through restarts.
//
//   const auto id = feedmill::RegisterDataset(photos, {.service = service});
//   …
//   const auto same = feedmill::DatasetFromId(*id, {.service = service});
//   if (!same.ok()) return same.status();
//   auto reader = feedmill::Read(*same, {.service = service});

struct RegistryConfig {
  // Address of the dispatcher, "tcp://host:port" or "host:port".
  std::string service{};
  // If set, a dispatcher of another cluster is refused.
  std::string cluster_id{};
  // The keys of a reader, for a service that has keys.
  SecurityConfig security{};
  // Directory of the dataset's relative file names. Default: the working
  // directory.
  std::string directory{};
  // Longest wait for an answer.
  absl::Duration timeout = absl::Seconds(20);
  // Functions that expressions may call, of LoadFunctions (expr.h). Null:
  // the built-in functions and the plugins of FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
};

// Registers a dataset and returns its id: the one given, or one that is derived
// from the definition, "dataset-" and 16 hexadecimal digits. The same dataset
// may be registered again. Files are named by their absolute paths; their
// fields are as of now.
//   InvalidArgument      the dataset or the address is wrong; an id has 1 to
//                        256 bytes
//   FailedPrecondition   the id is that of another dataset
//   ResourceExhausted    the dispatcher has as many datasets as it may
//   DeadlineExceeded     no dispatcher answered in time
absl::StatusOr<std::string> RegisterDataset(const Dataset& dataset,
                                            const RegistryConfig& config,
                                            const std::string& id = "");

// Returns the dataset of an id. With `expected`, its elements must have these
// components.
//   NotFound             there is no dataset of that id
//   InvalidArgument      its elements are others than `expected`; both are
//                        named
//   DeadlineExceeded     no dispatcher answered in time
absl::StatusOr<Dataset> DatasetFromId(const std::string& id,
                                      const RegistryConfig& config,
                                      const ElementSpec* expected = nullptr);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_DATASET_H_
