// A step and a source from outside, from C++: in this process, through a
// service, and from a token on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/dataset/graph_text.h"
#include "core/operators/registry.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"
#include "tests/extension/extensions.h"

namespace feedmill::extension {
namespace {

using ::testing::HasSubstr;

class Extension : public ::testing::Test {
 protected:
  // Once, for the suites of derived classes, too.
  static void SetUpTestSuite() {
    static const bool registered = [] {
      RegisterStep(ScaleBytesKind());
      RegisterSource(SizedKind());
      return true;
    }();
    EXPECT_TRUE(registered);
  }

  // Writes records of the lengths 0, 1, 2, … to a file.
  static std::string WriteSized(int records) {
    const std::string path = ::testing::TempDir() + "/records.sized";
    std::ofstream file(path, std::ios::binary);
    file << "SIZE";
    for (int n = 0; n < records; ++n) {
      file << static_cast<char>(n) << std::string(static_cast<size_t>(n), 'r');
    }
    return path;
  }

  static Dataset Bytes() {
    return Dataset::Range(100).Map(
        [](const Expr& x) { return Cast(x, DType::kUInt8); });
  }
};

TEST_F(Extension, IsAppliedByItsName) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", 3}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto reader = Read(*dataset, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  uint64_t n = 0;
  for (const Element& element : **reader) {
    EXPECT_EQ(element.Get<uint8_t>(), static_cast<uint8_t>(3 * n));
    ++n;
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(n, 100u);
}

TEST_F(Extension, HasAFingerprintThatDependsOnItsOptions) {
  const auto one = Bytes().Apply("scale_bytes", {{"factor", 3}});
  const auto same = Bytes().Apply("scale_bytes", {{"factor", 3}});
  const auto other = Bytes().Apply("scale_bytes", {{"factor", 4}});
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(Fingerprint(one->graph()), Fingerprint(same->graph()));
  EXPECT_NE(Fingerprint(one->graph()), Fingerprint(other->graph()));
  // The same holds for a source.
  const std::vector<std::string> files = {"/data/a.sized"};
  const auto source = Dataset::From("sized", {{"files", files}});
  const auto same_source = Dataset::From("sized", {{"files", files}});
  const auto magic =
      Dataset::From("sized", {{"files", files}, {"magic", "SIZE"}});
  ASSERT_TRUE(source.ok() && same_source.ok() && magic.ok());
  EXPECT_EQ(Fingerprint(source->graph()), Fingerprint(same_source->graph()));
  EXPECT_NE(Fingerprint(source->graph()), Fingerprint(magic->graph()));
}

TEST_F(Extension, SaysWhatIsWrongWithItsOptions) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", 999}});
  ASSERT_TRUE(dataset.ok());
  EXPECT_THAT(Read(*dataset, {}).status().message(),
              HasSubstr("steps[1] scale_bytes: factor must be 0 to 255"));
}

TEST_F(Extension, ReadsASourceByItsName) {
  const std::vector<std::string> files = {WriteSized(200)};
  const auto dataset =
      Dataset::From("sized", {{"files", files}, {"magic", "SIZE"}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto reader = Read(*dataset, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  size_t n = 0;
  for (const Element& element : **reader) {
    EXPECT_EQ(element.Bytes("data"), std::string(n, 'r'));
    ++n;
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(n, 200u);
}

TEST_F(Extension, SaysWhatIsWrongWithTheOptionsOfASource) {
  EXPECT_THAT(Dataset::From("sized", {{"magic", "SIZE"}}).status().message(),
              HasSubstr("sized needs the option \"files\""));
  EXPECT_THAT(Dataset::From("size", {}).status().message(),
              HasSubstr("there is no source \"size\""));
}

// A dispatcher and two workers of this process, as on other machines.
class ServedExtension : public Extension {
 protected:
  ServedExtension() {
    EXPECT_TRUE(dispatcher_.Start().ok());
    for (std::unique_ptr<WorkerServer>& worker : workers_) {
      WorkerConfig config;
      config.dispatcher = dispatcher_.target();
      config.threads = 1;
      config.in_process = false;
      worker = std::make_unique<WorkerServer>(config);
      EXPECT_TRUE(worker->Start().ok());
      EXPECT_TRUE(worker->WaitRegistered(absl::Seconds(20)).ok());
    }
  }

  static ReadOptions Locally(const std::string& token = "") {
    return {.resume = {.token = token}};
  }
  ReadOptions ThroughService(const std::string& token = "") const {
    return {.service = dispatcher_.target(), .resume = {.token = token}};
  }

  // The elements as the command prints them, at most `limit`; `token` becomes
  // the token of the place after them.
  static std::vector<std::string> Elements(const Dataset& dataset,
                                           const ReadOptions& options,
                                           size_t limit = SIZE_MAX,
                                           std::string* token = nullptr) {
    auto reader = Read(dataset, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<std::string> elements;
    if (!reader.ok()) return elements;
    for (const Element& element : **reader) {
      elements.push_back(element.ToJson());
      if (elements.size() == limit) break;
    }
    EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
    if (token != nullptr) {
      const auto saved = (*reader)->Save();
      EXPECT_TRUE(saved.ok()) << saved.status();
      *token = saved.value_or("");
    }
    return elements;
  }

  // Reads the dataset whole and in two parts, with a token in the middle, here
  // and through the service.
  void ExpectTheSameEverywhere(const Dataset& dataset, size_t size) const {
    const std::vector<std::string> whole = Elements(dataset, Locally());
    EXPECT_EQ(whole.size(), size);
    EXPECT_EQ(Elements(dataset, ThroughService()), whole);
    for (const bool begins_here : {true, false}) {
      std::string token;
      const std::vector<std::string> first =
          Elements(dataset, begins_here ? Locally() : ThroughService(),
                   size / 3, &token);
      EXPECT_EQ(first.size(), size / 3);
      for (const bool goes_on_here : {true, false}) {
        std::vector<std::string> both = first;
        for (const std::string& element :
             Elements(dataset,
                      goes_on_here ? Locally(token) : ThroughService(token))) {
          both.push_back(element);
        }
        EXPECT_EQ(both, whole) << begins_here << goes_on_here;
      }
    }
  }

  DispatchServer dispatcher_{DispatcherConfig{}};
  std::unique_ptr<WorkerServer> workers_[2];
};

TEST_F(ServedExtension, MakesAStepsElementsEverywhereAndFromAToken) {
  const auto dataset = Bytes().Shuffle().Apply("scale_bytes", {{"factor", 3}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ExpectTheSameEverywhere(dataset->Batch(3).WithSeed(4), 34);
}

TEST_F(ServedExtension, ReadsASourceEverywhereAndFromAToken) {
  const std::vector<std::string> files = {WriteSized(200)};
  const auto dataset =
      Dataset::From("sized", {{"files", files}, {"magic", "SIZE"}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ExpectTheSameEverywhere(dataset->WithSeed(4), 200);
  ExpectTheSameEverywhere(dataset->Shuffle().Batch(7).WithSeed(4), 29);
}

}  // namespace
}  // namespace feedmill::extension
