#include "client/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/url_secrets.h"
#include "core/operators/registry.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

class Quarantine : public ::testing::Test {
 protected:
  OnSkipped File() const {
    Graph graph;
    graph.steps.push_back(MakeStep(
        OnErrorStep{OnErrorStep::Policy::kSkip, {}, folder_ / "bad.jsonl"}));
    return QuarantineOf(graph);
  }
  std::string Text() const {
    std::ifstream file(folder_ / "bad.jsonl", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static SkippedElement Element(uint64_t p) {
    return {{p, 0}, {{"a.tfrecord", p, 0, 1}}, "no \"image\""};
  }

  const TestFolder folder_;
};

TEST_F(Quarantine, SaysWhichRecordAnElementWasMadeOf) {
  SkippedElement skipped = Element(3);
  EXPECT_EQ(SkippedText(skipped), "record 3 of a.tfrecord: no \"image\"");
  skipped.records[0].file = "https://me:secret@host/a";
  skipped.records[0].offset = 4096;
  skipped.records.emplace_back();
  EXPECT_EQ(SkippedText(skipped),
            HideUrlSecrets("record 3 of https://me:secret@host/a after byte "
                           "4096 and 1 more: no \"image\""));
  skipped.error = std::string(5'000, 'x');
  EXPECT_EQ(SkippedText(skipped).size(), kSkippedTextMax);
  EXPECT_EQ(SkippedText({{1, 0}, {}, "why"}), "why");
}

constexpr char kLine3[] =
    R"({"plan":"one","position":3,"index":0,"records":[{"file":"a.tfrecord",)"
    R"("record":3,"epoch":1}],"error":"no \"image\""})"
    "\n";

TEST_F(Quarantine, HasOneLineForEachElementOfAPlanThatIsReadTwice) {
  const OnSkipped first = File();
  const OnSkipped beside = File();
  ASSERT_TRUE(first("one", Element(3)).ok());
  EXPECT_EQ(Text(), kLine3);
  EXPECT_TRUE(beside("one", Element(3)).ok());
  EXPECT_TRUE(beside("one", Element(4)).ok());
  const std::string both = Text();
  EXPECT_TRUE(first("one", Element(4)).ok());
  EXPECT_TRUE(File()("one", Element(3)).ok());
  EXPECT_EQ(Text(), both);
  EXPECT_TRUE(File()("two", Element(3)).ok());
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 2);
  EXPECT_GT(Text().size(), both.size());
}

TEST_F(Quarantine, ContinuesAfterATruncatedLine) {
  folder_.Write("bad.jsonl", std::string(kLine3).substr(0, 40));
  EXPECT_TRUE(File()("one", Element(3)).ok());
  EXPECT_EQ(Text(), std::string(kLine3).substr(0, 40) + "\n" + kLine3);
  EXPECT_TRUE(File()("one", Element(3)).ok());
  EXPECT_EQ(Text(), std::string(kLine3).substr(0, 40) + "\n" + kLine3);
}

TEST_F(Quarantine, AnUnwritableFileIsAnErrorThatNamesIt) {
  Graph graph;
  graph.steps.push_back(
      MakeStep(OnErrorStep{OnErrorStep::Policy::kSkip, {}, folder_.path()}));
  const absl::Status status = QuarantineOf(graph)("one", Element(3));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(QuarantineOf(Graph()), nullptr);
}

}  // namespace
}  // namespace feedmill
