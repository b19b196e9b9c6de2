#ifndef FEEDMILL_TOOLS_COMMAND_ELEMENT_SIZES_H_
#define FEEDMILL_TOOLS_COMMAND_ELEMENT_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/io/manifest.h"

namespace feedmill {

// "512 KiB", "1.4 MiB": bytes for people.
std::string SizeText(uint64_t bytes);

// About how large the elements of a pipeline are, as far as their shapes and
// the sizes of the files tell.
class ElementSizes {
 public:
  ElementSizes(const AnalyzedGraph& graph, const Manifest& manifest);

  // Of what enters step `step`; nullopt where only reading tells.
  std::optional<uint64_t> Before(size_t step) const { return sizes_[step]; }
  // Of what a position makes on a worker.
  std::optional<uint64_t> OfPosition() const;
  // What a thread that makes elements needs besides them: what it read, and a
  // block of rows on its way through the steps.
  uint64_t OfThread() const;
  // What a client step holds, "" for none: "31 elements, 4.4 KiB".
  std::string HeldBy(size_t step) const;

 private:
  const AnalyzedGraph& graph_;
  std::vector<std::optional<uint64_t>> sizes_;  // by step, and at the end
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_ELEMENT_SIZES_H_
