#ifndef FEEDMILL_CLIENT_READ_TIMES_H_
#define FEEDMILL_CLIENT_READ_TIMES_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "core/net/clock.h"
#include "core/wire/message.h"
#include "feedmill/element.h"

namespace feedmill {

// Time that a reader's application spends waiting for elements, in client
// steps, and elsewhere; and the elements that it was given.
//
// Thread-safety: one thread writes, any thread reads.
class ReadTimes {
  // A sum of durations. One of them may last now.
  struct Total {
    std::atomic<int64_t> past{0};
    // Begin of the duration that lasts; 0: none does.
    std::atomic<int64_t> from{0};
    std::atomic<int64_t> ended{0};  // end of the last duration

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
      total_.ended.store(Now());
      total_.past.fetch_add(total_.ended - begun);
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
  // End of the last work of the client's steps.
  absl::Time stage_ended() const {
    return absl::FromUnixNanos(stage_.ended.load());
  }
  // Counts a chunk that the application is given. `skipped`: number of elements
  // that on_error has left out so far.
  void Count(const Chunk& chunk, uint64_t skipped) {
    elements_.fetch_add(chunk.rows, std::memory_order_relaxed);
    bytes_.fetch_add(chunk.ElementBytes(), std::memory_order_relaxed);
    skipped_.store(skipped);
  }

  // Leaves out buffer and window, which only a session has.
  ReaderLoad Load() const {
    const int64_t now = Now();
    const int64_t begun = begun_.load();
    ReaderLoad load;
    load.elapsed = absl::Nanoseconds(begun == 0 ? 0 : now - begun);
    load.waited = waited_.At(now);
    load.stage = stage_.At(now);
    load.elements = elements_.load();
    load.bytes = bytes_.load();
    load.skipped = skipped_.load();
    return load;
  }

 private:
  static int64_t Now() { return absl::ToUnixNanos(SteadyNow()); }

  std::atomic<int64_t> begun_{0};
  Total waited_;
  Total stage_;
  std::atomic<uint64_t> elements_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> skipped_{0};
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READ_TIMES_H_
