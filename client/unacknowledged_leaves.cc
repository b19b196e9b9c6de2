#include "client/unacknowledged_leaves.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr size_t kKept = 1'000;

}  // namespace

UnacknowledgedLeaves& UnacknowledgedLeaves::OfThisProcess() {
  static auto* const leaves =
      new UnacknowledgedLeaves;  // readers may outlive main
  return *leaves;
}

std::vector<ClientLeave> UnacknowledgedLeaves::Of(const std::string& service,
                                                  const JobName& job) const {
  const std::lock_guard lock(mu_);
  std::vector<ClientLeave> found;
  for (const auto& [at, leave] : leaves_) {
    if (at == service && leave.job == job) found.push_back(leave);
  }
  return found;
}

void UnacknowledgedLeaves::Replace(const std::string& service,
                                   const std::vector<ClientLeave>& taken_over,
                                   std::vector<ClientLeave> unacknowledged) {
  const std::lock_guard lock(mu_);
  const auto is_of = [](const std::vector<ClientLeave>& some,
                        const ClientLeave& leave) {
    return std::any_of(some.begin(), some.end(), [&](const ClientLeave& one) {
      return one.job == leave.job && one.session == leave.session;
    });
  };
  std::erase_if(leaves_, [&](const auto& kept) {
    return kept.first == service && (is_of(taken_over, kept.second) ||
                                     is_of(unacknowledged, kept.second));
  });
  for (ClientLeave& leave : unacknowledged) {
    leaves_.emplace_back(service, std::move(leave));
  }
  while (leaves_.size() > kKept) leaves_.pop_front();
}

}  // namespace feedmill
