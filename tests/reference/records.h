#ifndef FEEDMILL_TESTS_REFERENCE_RECORDS_H_
#define FEEDMILL_TESTS_REFERENCE_RECORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// The bytes of a source, naively: whole files in memory.

// Glob(3) of each name, in order; a folder is the files below it, sorted.
std::vector<std::string> Expand(const std::vector<std::string>& globs);

std::string ReadFile(const std::string& path);

// Every record of a TFRecord file, CRCs computed bit by bit; nothing for one
// whose data is corrupt. Throws DataError where lengths are.
std::vector<std::optional<std::string>> TfRecords(const std::string& path);

std::vector<Element> ImageRecords(const ImagesSource& source);

// Components of a tf.train.Example. Throws DataError.
Element ParseExample(const std::string& bytes, const ParseExampleStep& step);
// And of a tf.train.SequenceExample.
Element ParseSequenceExample(const std::string& bytes,
                             const ParseSequenceExampleStep& step);

// uint8 [h, w, channels]; JPEG at 1/8, 1/4 or 1/2 where both sides stay at
// least {height, width}. Throws DataError.
Tensor DecodeImage(const std::string& bytes, const DecodeImageStep& step,
                   const std::vector<int64_t>& at_least = {});
Tensor Resize(const Tensor& image, const ResizeStep& step);

// What one of the four steps above makes of a record.
Element MadeOf(const Tensor& record, const Step& step);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_RECORDS_H_
