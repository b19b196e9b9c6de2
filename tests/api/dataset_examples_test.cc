// The examples in the comments of include/feedmill/dataset.h compile, and those
// that show elements give these.

#include "tests/api/dataset_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "feedmill/reader.h"

namespace feedmill {
namespace {

constexpr char kMore[] = ", …";

// Returns the elements as a comment shows them. The text ends with kMore if it
// has `size` characters before the last element.
std::string ReadText(const Dataset& dataset, size_t size) {
  auto reader = Read(dataset);
  if (!reader.ok()) return reader.status().ToString();
  std::string text;
  for (const Element& element : **reader) {
    if (text.size() >= size) return text + kMore;
    if (!text.empty()) text += ", ";
    text += element.ToJson();
  }
  const absl::Status& status = (*reader)->status();
  return status.ok() ? text : status.ToString();
}

TEST(DatasetExamples, GiveTheElementsThatTheirCommentsShow) {
  size_t shown = 0;
  for (const DatasetExample& example : DatasetExamples()) {
    if (example.result.empty()) continue;
    SCOPED_TRACE(example.method);
    const absl::StatusOr<Dataset> dataset = example.make();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const bool more = example.result.ends_with(kMore);
    const size_t size = example.result.size() - (more ? sizeof(kMore) - 1 : 0);
    EXPECT_EQ(ReadText(*dataset, more ? size : std::string::npos),
              example.result);
    ++shown;
  }
  EXPECT_GE(shown, 25u);
}

}  // namespace
}  // namespace feedmill
