#include "core/wire/input_job.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(InputJobs, AreFoundByThePipelineThatTheyReadAnInputOf) {
  const std::string pipeline = "0123456789abcdef0123456789abcdef";
  const JobName job = InputJobName({1, 0}, pipeline, "5", "77");
  EXPECT_EQ(job.value(), "@0123456789abcdef-inputs[1][0]-5.77");
  EXPECT_TRUE(job.value().starts_with(InputJobPrefix(pipeline)));
  EXPECT_FALSE(job.value().starts_with(InputJobPrefix("f" + pipeline)));
  EXPECT_EQ(InputReadBy(job), "inputs[1][0]");
  EXPECT_EQ(InputJobPrefixOf(job), InputJobPrefix(pipeline));
  EXPECT_EQ(InputReaderOf(job), "5");
  EXPECT_EQ(InputReaderOf(JobName("@0123-inputs[0]-77")), "77");
  EXPECT_EQ(InputJobPrefixOf(JobName("a-inputs[0]-b")), "");
  EXPECT_EQ(InputJobPrefixOf(JobName("@0123")), "");
}

}  // namespace
}  // namespace feedmill
