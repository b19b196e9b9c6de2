#ifndef FEEDMILL_CLIENT_CREDIT_WINDOW_H_
#define FEEDMILL_CLIENT_CREDIT_WINDOW_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "client/arrival_rate.h"
#include "core/wire/message.h"

namespace feedmill {

// Limits the bytes of elements that workers may send ahead of the application:
// in all (the window) and for one split. The window is the part of the budget
// that the round trip to the workers requires. It is measured: wider while the
// application waits, narrower while elements wait in the buffer.
//
// All sizes are bytes of elements. Pure. Thread: one.
class CreditWindow {
 public:
  // `budget_bytes`: the maximum of the window. `quota_bytes`: the minimum that
  // one split may be ahead. Both must be positive.
  CreditWindow(uint64_t budget_bytes, uint64_t quota_bytes);

  uint64_t bytes() const { return window_bytes_; }
  uint64_t buffered_bytes() const { return buffered_bytes_; }
  // The smallest change of credit that is worth a message.
  uint64_t quarter_bytes() const;
  // True if a quarter was freed since the last call of CreditReturned.
  bool freed_a_quarter() const { return freed_bytes_ >= quarter_bytes(); }
  void CreditReturned() { freed_bytes_ = 0; }

  // A piece of `bytes` arrived, which covers `positions`.
  void Receive(absl::Time now, uint64_t positions, uint64_t bytes);
  // A frame of a worker arrived, of `wire_bytes` in all.
  void ReceiveFrame(absl::Time now, const WorkerId& worker, uint64_t wire_bytes,
                    uint64_t bytes);
  // Received bytes wait for the application.
  void Buffer(uint64_t bytes) { buffered_bytes_ += bytes; }
  // Bytes left the buffer, and so use no credit any more.
  void Drain(uint64_t bytes);
  // A split's credit that is not drained changed.
  void ChangeCredit(uint64_t before, uint64_t after) {
    outstanding_bytes_ = outstanding_bytes_ - before + after;
  }
  // A split was given up, with its buffered bytes and its credit.
  void Forget(uint64_t buffered, uint64_t credit);
  void ForgetAll() { buffered_bytes_ = outstanding_bytes_ = freed_bytes_ = 0; }

  // The application found no element and waits.
  void Wait(absl::Time now);
  // Additional credit was used for the first time; `took`: since it was sent.
  void NoteRoundTrip(absl::Duration took) {
    round_trip_ = round_trip_ < took ? round_trip_ : took;
  }

  // Returns how much credit a split may be given. `has`: its credit that is not
  // drained. `head_has`: the same of the head, the split that is read first;
  // absent if this is the head, or if there is none.
  uint64_t Free(bool is_head, uint64_t has,
                std::optional<uint64_t> head_has) const;
  // Estimates the bytes that a split still needs for its positions, from past
  // ones. More credit for it would only withhold credit from others.
  uint64_t MayNeed(uint64_t positions) const;
  // Returns the bytes per second that arrive from a worker; 0 if unknown, or if
  // credit may be what limits them.
  uint64_t Arriving(const WorkerId& worker) const;

 private:
  // The window before it was widened, and the rate at that time.
  struct Narrower {
    uint64_t bytes;
    double rate;
  };

  void Set(uint64_t bytes);
  void Narrow();
  bool WiderIsNoFaster(absl::Time now, double rate);
  void NoteReceived(uint64_t positions, uint64_t bytes);

  const uint64_t budget_bytes_;
  const uint64_t reserve_bytes_;  // part of the window reserved for the head
  uint64_t quota_bytes_;
  uint64_t ahead_bytes_ = 0;  // maximum ahead of one split
  uint64_t window_bytes_ = 0;

  uint64_t buffered_bytes_ = 0;
  uint64_t outstanding_bytes_ = 0;  // credit not drained, of all splits
  uint64_t freed_bytes_ = 0;        // since credit was last returned

  absl::Duration round_trip_ = absl::InfiniteDuration();
  absl::Time measured_from_ = absl::InfinitePast();
  uint64_t received_ = 0;  // since measured_from_
  uint64_t drained_ = 0;
  uint64_t unused_ = 0;  // least buffered since the last change
  std::optional<Narrower> narrower_;
  absl::Time widen_from_ = absl::InfinitePast();
  ArrivalRate arrivals_;
  uint64_t positions_came_ = 0;  // halved from time to time
  uint64_t bytes_came_ = 0;      // of positions_came_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_CREDIT_WINDOW_H_
