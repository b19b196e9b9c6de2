#include "client/unsaid_leaves.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr size_t kKept = 1'000;

}  // namespace

UnsaidLeaves& UnsaidLeaves::OfThisProcess() {
  static auto* const leaves = new UnsaidLeaves;  // readers may outlive main
  return *leaves;
}

std::vector<ClientLeave> UnsaidLeaves::Of(const std::string& service,
                                          const JobName& job) const {
  const std::lock_guard lock(mu_);
  std::vector<ClientLeave> found;
  for (const auto& [at, leave] : leaves_) {
    if (at == service && leave.job == job) found.push_back(leave);
  }
  return found;
}

void UnsaidLeaves::Replace(const std::string& service,
                           const std::vector<ClientLeave>& told,
                           std::vector<ClientLeave> unsaid) {
  const std::lock_guard lock(mu_);
  const auto is_of = [](const std::vector<ClientLeave>& some,
                        const ClientLeave& leave) {
    return std::any_of(some.begin(), some.end(), [&](const ClientLeave& one) {
      return one.job == leave.job && one.session == leave.session;
    });
  };
  std::erase_if(leaves_, [&](const auto& kept) {
    return kept.first == service &&
           (is_of(told, kept.second) || is_of(unsaid, kept.second));
  });
  for (ClientLeave& leave : unsaid) {
    leaves_.emplace_back(service, std::move(leave));
  }
  while (leaves_.size() > kKept) leaves_.pop_front();
}

}  // namespace feedmill
