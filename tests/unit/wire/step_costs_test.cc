// Costs of pieces: requested by grants, carried by frames.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/wire/codec.h"
#include "tests/unit/wire/sample_messages.h"

namespace feedmill {
namespace {

TEST(StepCostsTest, ComeBack) {
  auto grant = SampleOf<Grant>("grant");
  EXPECT_FALSE(Returned(grant).profile);
  grant.profile = true;
  EXPECT_TRUE(Returned(grant).profile);
  const Frame back = Returned(SampleOf<Frame>("frame_costs"));
  ASSERT_NE(back.costs, nullptr);
  ASSERT_EQ(back.costs->size(), 2u);
  const StepCost& source = back.costs->front();
  EXPECT_EQ(source.place, 1u);
  EXPECT_EQ(source.wall_ns, 2'000u);
  EXPECT_EQ(source.cpu_ns, 1'500u);
  EXPECT_EQ(source.rows_in, 0u);
  EXPECT_EQ(source.rows_out, 3u);
  EXPECT_EQ(source.bytes_out, 24u);
  EXPECT_EQ(Returned(SampleOf<Frame>("frame_dense")).costs, nullptr);
}

TEST(StepCostsTest, RefusesImpossiblePlaces) {
  auto frame = SampleOf<Frame>("frame_costs");
  auto costs = *frame.costs;
  costs[1].place = StepCost::kPlaceMax + 1;
  frame.costs = std::make_shared<const std::vector<StepCost>>(costs);
  EXPECT_EQ(Decode(Encode(frame, kCluster), kCluster).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedmill
