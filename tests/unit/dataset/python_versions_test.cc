#include "core/dataset/python_versions.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace feedmill {
namespace {

PythonNeedsPtr NeedsOf(std::vector<PythonNeeds> needs) {
  return std::make_shared<const std::vector<PythonNeeds>>(std::move(needs));
}

std::string Why(std::string version, std::vector<std::string> packages,
                const PythonInterpreter& interpreter) {
  return WhyUnfit(NeedsOf({{std::move(version), std::move(packages)}}),
                  &interpreter);
}

const PythonInterpreter kPython{
    "/usr/bin/python3",
    "3.11.4",
    {"cloudpickle==3.1.0", "numpy-financial==1.0", "numpy==2.1.0"}};

TEST(PythonVersions, TheMinorVersionOfPythonMustBeTheSame) {
  EXPECT_EQ(Why("3.11.2", {}, kPython), "");
  EXPECT_EQ(Why("3.12.4", {}, kPython), "has Python 3.11.4");
  EXPECT_EQ(Why("3.1.4", {}, kPython), "has Python 3.11.4");
}

TEST(PythonVersions, PackagesMustHaveExactlyTheVersion) {
  EXPECT_EQ(Why("3.11.2", {"numpy==2.1.0"}, kPython), "");
  EXPECT_EQ(Why("3.11.2", {"numpy==2.1"}, kPython), "has numpy 2.1.0");
  EXPECT_EQ(Why("3.11.2", {"scipy==1.0"}, kPython), "lacks scipy");
  EXPECT_EQ(Why("3.11.2", {"num==1"}, kPython), "lacks num");
  EXPECT_EQ(Why("3.11.2", {"NumPy.Financial==1.0"}, kPython), "");
}

TEST(PythonVersions, AllFunctionsMustFit) {
  const PythonNeedsPtr both =
      NeedsOf({{"3.11.2", {"numpy==2.1.0"}}, {"3.12.0", {}}});
  EXPECT_EQ(WhyUnfit(both, &kPython), "has Python 3.11.4");
  EXPECT_EQ(WhyUnfit(nullptr, nullptr), "");
  EXPECT_EQ(NeedsText(both), "Python 3.11.2, numpy 2.1.0 and Python 3.12.0");
  EXPECT_EQ(NeedsText(NeedsOf({{"3.12.0", {}}})), "Python 3.12.0");
}

TEST(PythonVersions, AProcessWithoutPythonSaysHowToAllowIt) {
  EXPECT_NE(WhyUnfit(NeedsOf({{"3.11.2", {}}}), nullptr).find("--allow-python"),
            std::string::npos);
}

TEST(PythonVersions, NamesOfPackagesAreComparedAsPipDoes) {
  EXPECT_EQ(NormalPackageName("PyYAML"), "pyyaml");
  EXPECT_EQ(NormalPackageName("a.b_-c"), "a-b-c");
}

}  // namespace
}  // namespace feedmill
