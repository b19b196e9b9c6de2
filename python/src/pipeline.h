#ifndef FEEDMILL_PYTHON_SRC_PIPELINE_H_
#define FEEDMILL_PYTHON_SRC_PIPELINE_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dataset/graph.h"
#include "core/definition/pipeline_text.h"

namespace feedmill::python {

// A component of an element: its name, dtype and shape (-1 is an unknown
// dimension), and whether it may be null.
using SpecEntry =
    std::tuple<std::string, std::string, std::vector<int64_t>, bool>;

// The definition of a dataset. Immutable.
class PythonPipeline {
 public:
  explicit PythonPipeline(Pipeline pipeline) : pipeline_(std::move(pipeline)) {}
  // Each raises the error of the function of pipeline_text.h. Options are None,
  // bools, ints, floats, strs, lists, dicts and other pipelines.
  static PythonPipeline FromYaml(std::string_view yaml,
                                 const std::string& directory);
  static PythonPipeline FromSource(const std::string& name,
                                   nanobind::handle options);
  // An array of NumPy, over the bytes of a buffer.
  using Bytes = nanobind::ndarray<const uint8_t, nanobind::ndim<1>,
                                  nanobind::c_contig, nanobind::device::cpu>;
  // A column of a table: name, dtype and shape of a row (a dimension that
  // differs is -1), and its buffers, which are viewed: values, and offsets,
  // row_shapes and row_starts, or None (element.h).
  using TableColumn = std::tuple<std::string, std::string, std::vector<int64_t>,
                                 std::optional<Bytes>, std::optional<Bytes>,
                                 std::optional<Bytes>, std::optional<Bytes>>;
  static PythonPipeline FromTable(const std::vector<TableColumn>& columns,
                                  size_t rows);
  PythonPipeline Apply(const std::string& name, nanobind::handle options) const;
  PythonPipeline WithOptions(nanobind::handle options) const;
  // Returns the pipeline with absolute paths.
  PythonPipeline In(const std::string& directory) const;

  const Pipeline& pipeline() const { return pipeline_; }
  const Graph& graph() const { return pipeline_.graph; }
  const std::string& job() const { return pipeline_.job; }
  std::optional<uint64_t> seed() const { return graph().options.seed; }
  // True if the order is "any".
  bool unordered() const { return graph().options.order == Order::kAny; }
  std::optional<std::string> even() const;
  // True if the elements are batches.
  bool Batched() const;

  std::string ToYaml() const { return YamlText(pipeline_); }
  // Returns place, name and value of each of ShownParts.
  std::vector<std::tuple<std::string, std::string, std::string>> Parts() const;
  // The canonical text, job and even.
  using State =
      std::tuple<std::string, std::string, std::optional<std::string>>;
  // Returns the state that FromState makes the pipeline of, with the tables in
  // memory.
  State ToState() const;
  // Returns a state that is equal for pipelines that mean the same by
  // construction.
  State Identity() const;
  static PythonPipeline FromState(const State& state);

  // Returns the text of `feedmill read --explain`. Reads files without the GIL.
  std::string Explain() const;
  // Returns the first part of that text: where each step runs. Reads no files;
  // raises InvalidArgument if only files tell the fields of the source.
  std::string Outline() const;
  // Returns the components of the elements that the pipeline makes. Reads files
  // without the GIL.
  std::vector<SpecEntry> ElementSpec() const;
  // Returns the names of the labels of an images source (ClassNamesOf). Lists
  // files without the GIL.
  std::vector<std::string> ClassNames() const;
  // Returns the components without reading files; nullopt if only files tell
  // it, or if the pipeline is wrong.
  std::optional<std::vector<SpecEntry>> KnownSpec() const;
  // Returns the first elements, at most `count`, that are made in this process
  // within `seconds`. Returns fewer if an error ends the reading.
  nanobind::list FirstWithin(uint64_t count, double seconds) const;
  // Returns the JSON of ShowBatch for element `number` of an epoch. The
  // interpreter runs the Python functions of the pipeline.
  std::string Provenance(uint64_t number, uint64_t epoch, uint64_t seed,
                         std::string allow_python,
                         std::string python_path) const;

 private:
  Pipeline pipeline_;
};

std::vector<SpecEntry> SpecEntries(const feedmill::ElementSpec& spec);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_PIPELINE_H_
