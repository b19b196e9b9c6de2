#ifndef FEEDMILL_CORE_FORMATS_IMAGE_LABELS_H_
#define FEEDMILL_CORE_FORMATS_IMAGE_LABELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dataset/graph.h"
#include "core/io/manifest.h"

namespace feedmill {

// ImageLabelName returns the name that labels an image (graph.h). ImageLabel
// returns its number: the name as an integer if `classes` is empty (all names
// are integers), else its index in `classes`.
std::string_view ImageLabelName(std::string_view path,
                                ImagesSource::Label label);
int64_t ImageLabel(std::string_view name,
                   const std::vector<std::string>& classes);

// Returns the sorted label names of a manifest's files. Empty if all are
// integers.
std::vector<std::string> LabelClasses(const std::vector<ManifestFile>& files,
                                      ImagesSource::Label label);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_IMAGE_LABELS_H_
