#include "core/wire/input_job.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(InputJobs, AreFoundByThePipelineThatTheyReadAnInputOf) {
  const std::string pipeline = "0123456789abcdef0123456789abcdef";
  const JobName job = InputJobName({1, 0}, pipeline, "77");
  EXPECT_EQ(job.value(), "@inputs[1][0]-0123456789abcdef-77");
  EXPECT_EQ(InputReadBy(job, pipeline), "inputs[1][0]");
  EXPECT_EQ(InputReadBy(job, "f" + pipeline), "");
  EXPECT_EQ(InputReadBy(JobName("@77"), pipeline), "");
  EXPECT_EQ(InputReadBy(JobName("training"), pipeline), "");
}

}  // namespace
}  // namespace feedmill
