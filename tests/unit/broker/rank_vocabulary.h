#ifndef FEEDMILL_TESTS_UNIT_BROKER_RANK_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_BROKER_RANK_VOCABULARY_H_

#include <string>

#include "tests/unit/broker/dispatcher_vocabulary.h"

// A vocabulary for tests with ranks of one sequence.

namespace feedmill::testing {

inline Reader& AddRank(Cluster& cluster, uint64_t rank, uint64_t ranks,
                       const std::string& graph = "range 100") {
  Reader& reader =
      cluster.AddReader("j", fmt::format("{}/{}", rank, ranks), graph);
  reader.hello().share = {rank, ranks};
  return reader;
}

// Reads to the end and leaves.
inline void Finish(Reader& reader) {
  for (int turn = 0; turn < 1'000 && !reader.splits().empty(); ++turn) {
    reader.FinishAll().Beat();
  }
  EXPECT_TRUE(reader.splits().empty());
  reader.Leave();
}

// Settings with a short client timeout.
inline DispatcherSettings QuickTimeout() {
  DispatcherSettings settings;
  settings.client_timeout = absl::Seconds(10);
  return settings;
}

inline Reader& WithToken(Reader& reader, uint64_t run, Cursor cursor) {
  reader.hello().run = RunNumber(run);
  reader.hello().cursor = cursor;
  return reader;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_BROKER_RANK_VOCABULARY_H_
