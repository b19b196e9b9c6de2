// Reader::pass, the pass of `repeat` that a reader has reached: in this process
// and through a service, from a token, for ranks, and for readers that share a
// job.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "feedmill/reader.h"
#include "tests/integration/epoch_vocabulary.h"

namespace feedmill {
namespace {

class Passes : public Epochs {};

constexpr const char* kRepeats[] = {
    "[{shuffle: {}}, {repeat: 3}]",
    "[{shuffle: {}}, {repeat: 3}, {batch: {size: 7}}]",
    "[{batch: {size: 7}}, {repeat: }]",
    "[{filter: 'x % 3 != 0'}, {repeat: 3}]",
    "[{filter: 'x % 3 != 0'}, {repeat: 3}, {batch: {size: 4}}]",
    "[{filter: 'x % 3 != 0'}, {batch: {size: 4}}, {repeat: 3}]",
    "[{filter: 'x % 3 != 0'}, {batch: {size: 4}}, {take: 9}, {repeat: }]",
    "[{filter: 'x % 3 != 0'}, {shuffle: {window: 20}}, {repeat: 3}]",
    "[{repeat: 2}, {filter: 'x > 97'}, {repeat: 2}, {batch: {size: 5}}]",
};
constexpr size_t kPassesCompared = 130;  // of elements of an infinite pipeline

// Returns pass() at each of the next elements.
std::vector<uint64_t> PassesOf(Reader& reader, size_t count) {
  std::vector<uint64_t> passes;
  if (count == 0) return passes;
  for (const Element element : reader) {
    static_cast<void>(element);
    passes.push_back(reader.pass());
    if (passes.size() == count) break;
  }
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  return passes;
}

// The greatest epoch of the records that made an element or one before it.
std::vector<uint64_t> PassesOfRecords(const Graph& graph, size_t count) {
  std::vector<uint64_t> passes;
  uint64_t pass = 0;
  while (passes.size() < count) {
    const auto shown = ShowBatch(graph, passes.size(), {});
    if (absl::IsOutOfRange(shown.status())) break;
    EXPECT_TRUE(shown.ok()) << shown.status();
    if (!shown.ok()) break;
    for (const RecordOrigin& record : shown->traced.records) {
      pass = std::max(pass, record.epoch);
    }
    passes.push_back(pass);
  }
  return passes;
}

TEST_F(Passes, APassOfRepeatIsCountedInEveryWayOfReading) {
  for (const char* steps : kRepeats) {
    SCOPED_TRACE(steps);
    const Graph graph = GraphOf(steps);
    const std::vector<uint64_t> expected =
        PassesOfRecords(graph, kPassesCompared);
    EXPECT_GT(expected.back(), 0);
    for (const Way way : kWays) {
      auto reader = Read(graph, Of(way, steps));
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->pass(), 0);
      EXPECT_EQ(PassesOf(**reader, kPassesCompared), expected);
    }
  }
}

TEST_F(Passes, APassContinuesFromAToken) {
  for (const char* steps : kRepeats) {
    const Graph graph = GraphOf(steps);
    const std::vector<uint64_t> expected =
        PassesOfRecords(graph, kPassesCompared);
    for (size_t stop = 0; stop < expected.size(); stop += 7) {
      SCOPED_TRACE(std::string(steps) + " from " + std::to_string(stop));
      auto reader =
          Read(graph, Of(stop % 2 == 0 ? Way::kLocal : Way::kService));
      ASSERT_TRUE(reader.ok()) << reader.status();
      std::vector<uint64_t> passes = PassesOf(**reader, stop);
      ReadOptions options = Of(stop % 3 == 0 ? Way::kService : Way::kLocal);
      options.resume.token = (*reader)->Save().value();
      auto rest = Read(graph, options);
      ASSERT_TRUE(rest.ok()) << rest.status();
      for (const uint64_t pass : PassesOf(**rest, expected.size() - stop)) {
        passes.push_back(pass);
      }
      ASSERT_EQ(passes, expected);
    }
  }
}

TEST_F(Passes, ARankHasTheSamePassAsTheWhole) {
  for (const char* steps : kRepeats) {
    SCOPED_TRACE(steps);
    const Graph graph = GraphOf(steps);
    const std::vector<uint64_t> expected =
        PassesOfRecords(graph, kPassesCompared);
    for (uint64_t rank = 0; rank < 2; ++rank) {
      ReadOptions options;
      options.rank.index = rank;
      options.rank.count = 2;
      auto reader = Read(graph, options);
      ASSERT_TRUE(reader.ok()) << reader.status();
      const std::vector<uint64_t> passes =
          PassesOf(**reader, (expected.size() + 1 - rank) / 2);
      for (size_t k = 0; k < passes.size(); ++k) {
        EXPECT_EQ(passes[k], expected[2 * k + rank]);
      }
    }
  }
}

TEST_F(Passes, APassIsKnownForEachRowOfAChunk) {
  for (const char* steps : {kRepeats[0], kRepeats[3], kRepeats[4]}) {
    const Graph graph = GraphOf(steps);
    const std::vector<uint64_t> expected =
        PassesOfRecords(graph, kPassesCompared);
    auto reader = Read(graph, {});
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::vector<uint64_t> passes;
    for (const Chunk& chunk : (*reader)->chunks()) {
      for (uint64_t unread = chunk.rows; unread > 0; --unread) {
        passes.push_back((*reader)->pass(unread - 1));
      }
    }
    passes.resize(std::min(passes.size(), kPassesCompared));
    EXPECT_EQ(passes, expected);
  }
}

TEST_F(Passes, PassesBeforeAShuffleAreOne) {
  for (const char* steps :
       {"[{repeat: 3}, {shuffle: {}}]",
        "[{filter: 'x < 50'}, {repeat: 3}, {shuffle: {window: 5}}]",
        "[{shuffle: {}}]"}) {
    for (const Way way : kWays) {
      auto reader = Read(GraphOf(steps), Of(way, steps));
      ASSERT_TRUE(reader.ok()) << reader.status();
      for (const uint64_t pass : PassesOf(**reader, 1'000)) EXPECT_EQ(pass, 0);
    }
  }
}

TEST_F(Passes, ReadersThatShareAJobSeeThePassOfEachElement) {
  for (const char* steps :
       {"[{repeat: 3}]", "[{filter: 'x % 3 != 0'}, {repeat: 3}]"}) {
    auto reader = Read(GraphOf(steps, "{seed: 9, order: any}"),
                       Of(Way::kNamedJob, steps));
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::set<std::pair<uint64_t, std::string>> seen;
    size_t count = 0;
    for (const Element element : **reader) {
      seen.emplace((*reader)->pass(), element.ToJson());
      ++count;
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(seen.rbegin()->first, 2);
  }
}

}  // namespace
}  // namespace feedmill
