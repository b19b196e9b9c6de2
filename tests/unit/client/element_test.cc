#include "feedmill/element.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/status.h"
#include "feedmill/dataset.h"
#include "feedmill/loader.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// {count: int64, half: float64}
Dataset Numbers() {
  const Expr x = Expr::Named("x");
  return Dataset::Range(4).Map({{"count", x}, {"half", x / 2}});
}

// {count: int64[2], half: float64[2]}
Dataset Pairs() { return Numbers().Batch(2, {.drop_remainder = true}); }

std::unique_ptr<Reader> ReaderOf(const Dataset& dataset) {
  auto reader = Read(dataset);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

TEST(ElementColumnTest, IsFoundBeforeTheLoop) {
  const auto reader = ReaderOf(Numbers());
  const auto count = reader->Column<int64_t>("count");
  const auto half = reader->Column<double>("half");
  ASSERT_TRUE(count.ok() && half.ok()) << count.status() << half.status();
  EXPECT_EQ(half->index(), 1);
  std::vector<int64_t> counts;
  std::vector<double> halves;
  for (const Element& element : *reader) {
    counts.push_back(count->Get(element));
    halves.push_back(half->Get(element));
  }
  EXPECT_THAT(counts, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(halves, ElementsAre(0, 0.5, 1, 1.5));
}

TEST(ElementColumnTest, GivesTensors) {
  const auto reader = ReaderOf(Pairs());
  const auto half = reader->Column<double>("half");
  ASSERT_TRUE(half.ok()) << half.status();
  std::vector<double> seconds;
  for (const Element& element : *reader) {
    const TensorView<double> pair = half->Tensor(element);
    ASSERT_THAT(pair.shape, ElementsAre(2));
    seconds.push_back(pair.items[1]);
  }
  EXPECT_THAT(seconds, ElementsAre(0.5, 1.5));
}

TEST(ElementColumnTest, IsAnErrorThatListsThoseThatExist) {
  const auto reader = ReaderOf(Pairs());
  const absl::Status misspelt = reader->Column<int64_t>("cuont").status();
  EXPECT_EQ(misspelt.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorText(misspelt),
            "the elements have no component \"cuont\"; they are {count: "
            "int64[2], half: float64[2]}; did you mean \"count\"?");
  const absl::Status other = reader->Column<float>("half").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorText(other),
            "component \"half\" is float64[2], and was asked for as float32; "
            "the elements are {count: int64[2], half: float64[2]}");
  EXPECT_THAT(ErrorText(reader->Column<std::string_view>("half").status()),
              HasSubstr("asked for as bytes"));
  EXPECT_FALSE(reader->Column<int64_t>().ok());
  const auto range = ReaderOf(Dataset::Range(3));
  EXPECT_TRUE(range->Column<int64_t>().ok());
  EXPECT_EQ(
      ErrorText(range->Column<int32_t>().status()),
      "the elements' only component is int64, and was asked for as int32; "
      "the elements are int64");
}

TEST(ElementColumnTest, IsFoundForALoaderToo) {
  Loader loader(Numbers());
  const auto count = loader.Column<int64_t>("count");
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(loader.next_epoch(), 0);
  for (int epoch = 0; epoch < 2; ++epoch) {
    int64_t sum = 0;
    for (const Element& element : loader) sum += count->Get(element);
    EXPECT_EQ(sum, 6);
  }
  EXPECT_THAT(ErrorText(loader.Column<int64_t>("cout").status()),
              HasSubstr("did you mean"));
  EXPECT_TRUE(loader.status().ok());
  Loader wrong(Numbers(), {.resume = {.token = "none"}});
  EXPECT_THAT(ErrorText(wrong.Column<int64_t>("count").status()),
              HasSubstr("no token"));
}

TEST(ElementDeathTest, NamesWhatIsNotThere) {
  const auto reader = ReaderOf(Pairs());
  const auto it = reader->begin();
  const Element element = *it;
  EXPECT_DEATH(element.Tensor<int64_t>("cuont"),
               "no component \"cuont\"; they are .*did you mean \"count\"");
  EXPECT_DEATH(element.Tensor<int64_t>(2), "no component 2 .*they are .count");
  EXPECT_DEATH(element.Tensor<int32_t>("count"),
               "component \"count\" is int64.2., and was asked for as int32");
  EXPECT_DEATH(element.Bytes("half"), "is float64.2., and was asked for as b");
  EXPECT_DEATH(element.Get<int64_t>("count"),
               "\"count\" is int64.2., and was asked for as a scalar");
}

TEST(ReadOptionsTest, RanksNeedTheNameOfAJob) {
  EXPECT_THAT(ErrorText(Read(Numbers(),
                             {.service = "127.0.0.1:1", .rank = {.count = 2}})
                            .status()),
              HasSubstr("set ReadOptions::job.name"));
}

}  // namespace
}  // namespace feedmill
