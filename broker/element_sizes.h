#ifndef FEEDMILL_BROKER_ELEMENT_SIZES_H_
#define FEEDMILL_BROKER_ELEMENT_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/io/manifest.h"

namespace feedmill {

// Formats a size for people: "512 KiB", "1.4 MiB".
std::string SizeText(uint64_t bytes);

// Estimates the sizes of a pipeline's elements from shapes and file sizes.
class ElementSizes {
 public:
  ElementSizes(const AnalyzedGraph& graph, const Manifest& manifest);

  // Size of the input of step `step`; nullopt if it is unknown before reading.
  std::optional<uint64_t> Before(size_t step) const { return sizes_[step]; }
  // Size of the elements of one position, at the end of the worker's steps.
  std::optional<uint64_t> OfPosition() const;
  // Additional memory of a thread that makes elements: read buffers and a block
  // of rows between steps.
  uint64_t OfThread() const;
  // Describes the elements that a client step holds, e.g. "31 elements, 4.4
  // KiB"; "" for none.
  std::string HeldBy(size_t step) const;

 private:
  const AnalyzedGraph& graph_;
  // by step; the last entry is the output
  std::vector<std::optional<uint64_t>> sizes_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_ELEMENT_SIZES_H_
