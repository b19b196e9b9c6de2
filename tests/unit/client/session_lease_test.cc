#include "client/session_lease.h"

#include "gtest/gtest.h"

namespace feedmill {
namespace {

const absl::Time kLeaseStart = absl::UnixEpoch() + absl::Seconds(1);

// ---- rule 24
TEST(SessionLeaseTest, LastsHalfTheTimeoutAfterAnAcknowledgedHeartbeatWasSent) {
  const SessionRules rules;
  SessionLease lease(rules);
  EXPECT_FALSE(lease.Valid(kLeaseStart));
  lease.SetTimeout(absl::Seconds(10));
  EXPECT_FALSE(lease.Valid(kLeaseStart));
  lease.Renew(kLeaseStart, kLeaseStart + absl::Seconds(2));
  EXPECT_TRUE(lease.Valid(kLeaseStart + absl::Milliseconds(4'999)));
  EXPECT_FALSE(lease.Valid(kLeaseStart + absl::Seconds(5)));
}

TEST(SessionLeaseTest, ALateAnswerDoesNotShortenIt) {
  const SessionRules rules;
  SessionLease lease(rules);
  lease.SetTimeout(absl::Seconds(10));
  lease.Renew(kLeaseStart + absl::Seconds(3), kLeaseStart + absl::Seconds(4));
  lease.Renew(kLeaseStart, kLeaseStart + absl::Seconds(5));
  EXPECT_TRUE(lease.Valid(kLeaseStart + absl::Seconds(7)));
  lease.Lose();
  EXPECT_FALSE(lease.Valid(kLeaseStart));
}

}  // namespace
}  // namespace feedmill
