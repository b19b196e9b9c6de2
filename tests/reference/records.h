#ifndef FEEDMILL_TESTS_REFERENCE_RECORDS_H_
#define FEEDMILL_TESTS_REFERENCE_RECORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Reads the bytes of a source naively: whole files in memory.

// Expands each name with glob(3), in order; a folder gives the files below it,
// sorted.
std::vector<std::string> Expand(const std::vector<std::string>& globs);

std::string ReadFile(const std::string& path);

// Returns every record of a TFRecord file; nullopt for a record with corrupt
// data. Computes CRCs bit by bit. Throws DataError for corrupt lengths.
std::vector<std::optional<std::string>> TfRecords(const std::string& path);

std::vector<Element> ImageRecords(const ImagesSource& source);

// Parses a tf.train.Example. Throws DataError.
Element ParseExample(const std::string& bytes, const ParseExampleStep& step);
// Parses a tf.train.SequenceExample. Throws DataError.
Element ParseSequenceExample(const std::string& bytes,
                             const ParseSequenceExampleStep& step);

// Decodes to uint8 [h, w, channels]. Scales a JPEG to 1/8, 1/4 or 1/2 if both
// sides stay at least {height, width}. Throws DataError.
Tensor DecodeImage(const std::string& bytes, const DecodeImageStep& step,
                   const std::vector<int64_t>& at_least = {});
Tensor Resize(const Tensor& image, const ResizeStep& step);

// Applies one of the four steps above to a record.
Element MadeOf(const Tensor& record, const Step& step);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_RECORDS_H_
