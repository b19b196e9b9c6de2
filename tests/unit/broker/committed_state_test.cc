#include "broker/committed_state.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

DispatcherState OfJournal(uint64_t journal) {
  DispatcherState state;
  state.journal = JournalId(journal);
  return state;
}

TEST(CommittedState, KeepsEventsUntilTheyAreTaken) {
  CommittedState state(OfJournal(7));
  state.Commit(DatasetRegistered{"id", "graph"});
  EXPECT_EQ(state->datasets.at("id"), "graph");
  EXPECT_EQ(state.TakeEvents().size(), 1);
  EXPECT_TRUE(state.events().empty());
  EXPECT_EQ(state.seen().sequence, 1);
}

TEST(CommittedState, IsBehindAPeerThatHasSeenALaterEvent) {
  CommittedState state(OfJournal(7));
  state.Commit(DatasetRegistered{"id", "graph"});
  state.Compare({JournalId(8), 99});  // of another journal
  state.Compare({JournalId(7), 1});
  EXPECT_TRUE(state.behind().ok());
  state.Compare({JournalId(7), 2});
  EXPECT_TRUE(absl::IsDataLoss(state.behind())) << state.behind();
}

}  // namespace
}  // namespace feedmill
