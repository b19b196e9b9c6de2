#include "client/reader_roster.h"

#include <pthread.h>

#include <atomic>
#include <tuple>

namespace feedmill {
namespace {

void AddCounters(const ReaderState& state, ReaderTotals& totals) {
  totals.load.elapsed += state.load.elapsed;
  totals.load.waited += state.load.waited;
  totals.load.stage += state.load.stage;
  totals.load.elements += state.load.elements;
  totals.load.bytes += state.load.bytes;
  totals.load.skipped += state.load.skipped;
  totals.reconnects += state.reconnects;
}

void AddOpen(const ReaderState& state, ReaderTotals& totals) {
  AddCounters(state, totals);
  totals.load.buffered_bytes += state.load.buffered_bytes;
  totals.load.window_bytes += state.load.window_bytes;
  ++totals.open;
  if (state.joined) ++totals.joined;
}

}  // namespace

ReaderRoster& ReaderRoster::OfThisProcess() {
  // Never destroyed: readers may outlive statics. A child of fork has a roster
  // of its own, because the readers of its parent have no threads in it.
  static std::atomic<ReaderRoster*> roster = nullptr;
  [[maybe_unused]] static const bool begun = [] {
    roster = new ReaderRoster;
    pthread_atfork(nullptr, nullptr, [] { roster = new ReaderRoster; });
    return true;
  }();
  return *roster;
}

ReaderRoster::Entry::Entry(ReaderRoster& roster, std::string job, uint64_t rank,
                           std::function<ReaderState()> state)
    : roster_(roster), key_(std::move(job), rank), state_(std::move(state)) {
  const std::lock_guard lock(roster_.mu_);
  roster_.open_.push_front(this);
  place_ = roster_.open_.begin();
}

ReaderRoster::Entry::~Entry() {
  const std::lock_guard lock(roster_.mu_);
  roster_.open_.erase(place_);
  const bool full =
      roster_.ended_.size() >= kTotalsMax && !roster_.ended_.contains(key_);
  AddCounters(state_(), roster_.ended_[full ? Key("", 0) : key_]);
}

std::vector<ReaderTotals> ReaderRoster::Totals() const {
  const std::lock_guard lock(mu_);
  std::map<Key, ReaderTotals> totals = ended_;
  for (const Entry* entry : open_) {
    AddOpen(entry->state_(), totals[entry->key_]);
  }
  std::vector<ReaderTotals> listed;
  for (auto& [key, total] : totals) {
    std::tie(total.job, total.rank) = key;
    listed.push_back(std::move(total));
  }
  return listed;
}

}  // namespace feedmill
