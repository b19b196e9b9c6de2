#ifndef FEEDMILL_CLIENT_READ_TIMES_H_
#define FEEDMILL_CLIENT_READ_TIMES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/net/clock.h"
#include "core/wire/message.h"

namespace feedmill {

// Time that a reader's application spends waiting for elements, in client
// steps, and elsewhere; and the elements that were skipped.
//
// Thread-safety: one thread writes times, and one skipped elements; any thread
// reads.
class ReadTimes {
  // A sum of durations. One of them may last now.
  struct Total {
    std::atomic<int64_t> past{0};
    std::atomic<int64_t> from{0};  // begin of the wait that lasts; 0: none does

    absl::Duration At(int64_t now) const {
      const int64_t begun = from.load();
      return absl::Nanoseconds(past.load() + (begun == 0 ? 0 : now - begun));
    }
  };
  class Span {
   public:
    explicit Span(Total& total) : total_(total) { total_.from.store(Now()); }
    ~Span() {
      const int64_t begun = total_.from.exchange(0);
      total_.past.fetch_add(Now() - begun);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Total& total_;
  };

 public:
  // Starts the clock at the first request for an element. Later calls do
  // nothing.
  void Begin() {
    int64_t none = 0;
    begun_.compare_exchange_strong(none, Now());
  }
  // Measures a wait of the application, until it is destroyed.
  struct Wait : Span {
    explicit Wait(ReadTimes& times) : Span(times.waited_) {}
  };
  // Measures work of the client's steps, likewise.
  struct Stage : Span {
    explicit Stage(ReadTimes& times) : Span(times.stage_) {}
  };
  // The number of skipped elements, without their texts.
  void SetSkipped(uint64_t skipped) { skipped_.store(skipped); }
  // `text` names the file and the record. Of those that are not taken yet, the
  // first kSkippedKept are kept.
  void AddSkipped(std::string text) {
    const std::lock_guard lock(mu_);
    skipped_.fetch_add(1);
    if (skipped_elements_.size() >= kSkippedKept) return;
    skipped_elements_.push_back(std::move(text));
  }
  std::vector<std::string> TakeSkipped() {
    const std::lock_guard lock(mu_);
    return std::exchange(skipped_elements_, {});
  }
  static constexpr size_t kSkippedKept = 4;

  // Fills in the times only; elements, bytes, buffer and window are the
  // session's.
  ReaderLoad Load() const {
    const int64_t now = Now();
    const int64_t begun = begun_.load();
    ReaderLoad load;
    load.elapsed = absl::Nanoseconds(begun == 0 ? 0 : now - begun);
    load.waited = waited_.At(now);
    load.stage = stage_.At(now);
    load.skipped = skipped_.load();
    return load;
  }

 private:
  static int64_t Now() { return absl::ToUnixNanos(SteadyNow()); }

  std::atomic<int64_t> begun_{0};
  Total waited_;
  Total stage_;
  std::atomic<uint64_t> skipped_{0};
  std::mutex mu_;
  std::vector<std::string> skipped_elements_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_TIMES_H_
