#ifndef FEEDMILL_PYTHON_SRC_PIPELINE_H_
#define FEEDMILL_PYTHON_SRC_PIPELINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/dataset/graph.h"
#include "core/definition/pipeline_text.h"

namespace feedmill::python {

// A component of an element: its name, dtype and shape; -1 is an unknown
// dimension.
using SpecEntry = std::tuple<std::string, std::string, std::vector<int64_t>>;

// A pipeline that was read from YAML. Immutable.
class PythonPipeline {
 public:
  // Raises the error of ParsePipelineYaml.
  PythonPipeline(std::string_view yaml, const std::string& directory);

  const Graph& graph() const { return pipeline_.graph; }
  const std::string& job() const { return pipeline_.job; }
  // True if the elements are batches.
  bool Batched() const;

  // Returns the text of `feedmill read --explain`. Reads files without the GIL.
  std::string Explain() const;
  // Returns the first part of that text: where each step runs. Reads no files;
  // raises InvalidArgument if only files tell the fields of the source.
  std::string Outline() const;
  // Returns a text that is equal for pipelines that mean the same by
  // construction (graph_text.h).
  std::string Canonical() const;
  // Returns the components of the elements that the pipeline makes. Reads files
  // without the GIL.
  std::vector<SpecEntry> ElementSpec() const;
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
