#include "stores/stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace feedmill {
namespace {

using ::testing::HasSubstr;

TEST(Stores, AddsEachSchemeOnce) {
  FileSystems systems;
  ASSERT_TRUE(AddStoresTo(systems).ok());
  for (const char* const name :
       {"http://h/a", "https://h/a", "s3://b/a", "gs://b/a", "az://b/a"}) {
    EXPECT_TRUE(systems.Find(name).ok()) << name;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(AddStoresTo(systems)));
}

TEST(Stores, AWrongVariableIsNamed) {
  FileSystems systems;
  setenv("AWS_NO_SIGN_REQUEST", "perhaps", 1);
  const absl::Status status = AddStoresTo(systems);
  unsetenv("AWS_NO_SIGN_REQUEST");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("AWS_NO_SIGN_REQUEST"));
}

TEST(Stores, AMissingPluginIsAnErrorOfTheFirstUse) {
  FileSystems systems;
  setenv("FEEDMILL_ARROW_PLUGIN", "/nowhere/plugin.so", 1);
  ASSERT_TRUE(AddStoresTo(systems).ok());
  const auto opened = (*systems.Find("gs://b/a"))->Open("gs://b/a");
  unsetenv("FEEDMILL_ARROW_PLUGIN");
  EXPECT_TRUE(absl::IsFailedPrecondition(opened.status()));
  EXPECT_THAT(std::string(opened.status().message()),
              ::testing::AllOf(HasSubstr("gs://b/a"),
                               HasSubstr("libfeedmill_arrow.so")));
}

TEST(Stores, AMalformedKeyOfAzureIsAnErrorBeforeARequest) {
  FileSystems systems;
  ASSERT_TRUE(AddStoresTo(systems).ok());
  setenv("AZURE_STORAGE_ACCOUNT", "lab7", 1);
  setenv("AZURE_STORAGE_KEY", "no base64!", 1);
  const auto made = (*systems.Find("az://c/a"))->WriteNew("az://c/a", "1");
  unsetenv("AZURE_STORAGE_ACCOUNT");
  unsetenv("AZURE_STORAGE_KEY");
  EXPECT_TRUE(absl::IsFailedPrecondition(made.status()));
  EXPECT_THAT(
      std::string(made.status().message()),
      ::testing::AllOf(HasSubstr("az://c/a"), HasSubstr("AZURE_STORAGE_KEY"),
                       ::testing::Not(HasSubstr("base64!"))));
}

}  // namespace
}  // namespace feedmill
