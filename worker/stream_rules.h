#ifndef FEEDMILL_WORKER_STREAM_RULES_H_
#define FEEDMILL_WORKER_STREAM_RULES_H_

#include <algorithm>
#include <cstdint>

#include "core/wire/message.h"

namespace feedmill {

// Decisions of the delivery protocol that a worker makes.
// tests/model/README.md explains the rules. The simulator overrides single
// decisions to plant bugs; see tests/sim/planted_bugs.h.
class StreamRules {
 public:
  virtual ~StreamRules() = default;

  // Returns a stream's total credit after `grant`: totals are absolute (rule
  // 12).
  virtual uint64_t Allow(uint64_t total, const Grant& grant) const {
    return std::max(total, grant.total_bytes);
  }
  // True if `grant` makes the stream send again from its start (rule 12).
  virtual bool Reopened(Opening current, const Grant& grant) const {
    return grant.opening > current;
  }
  // True if the stream precedes all that are not heads (rule 17).
  virtual bool IsHead(const Grant& grant) const { return grant.head; }
  // True if a stream may stop computing although the piece that it sends next
  // is missing (rule 17).
  virtual bool EnoughBehindHole() const { return false; }
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_STREAM_RULES_H_
