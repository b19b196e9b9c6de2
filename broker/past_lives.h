#ifndef FEEDMILL_BROKER_PAST_LIVES_H_
#define FEEDMILL_BROKER_PAST_LIVES_H_

#include <deque>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "broker/dispatcher_state.h"
#include "core/wire/message.h"

namespace feedmill {

// Answers to the hellos of lives that are over, by life. Bounded: the oldest
// answer is dropped first. Pure.
class PastLives {
 public:
  using Life = std::pair<SessionKey, Incarnation>;
  // Stores the answer; no effect if the life has one.
  void Add(const Life& life, const absl::Status& why);
  // Returns the answer; null if there is none.
  const absl::Status* Find(const Life& life) const;

 private:
  std::map<Life, absl::Status> why_;
  std::deque<Life> order_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PAST_LIVES_H_
