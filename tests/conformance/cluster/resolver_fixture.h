#ifndef FEEDMILL_TESTS_CONFORMANCE_CLUSTER_RESOLVER_FIXTURE_H_
#define FEEDMILL_TESTS_CONFORMANCE_CLUSTER_RESOLVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "feedmill/resolver.h"

namespace feedmill {

using List = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

inline ClusterSpec Cluster(
    const std::vector<std::pair<std::string, ClusterSpec::Tasks>>& jobs) {
  auto spec = ClusterSpec::FromJobs(jobs);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : ClusterSpec();
}

// A machine with these variables, this number of NVIDIA GPUs and no files.
inline ResolverContext Machine(Variables variables, int gpus = 0) {
  return {Environment(std::move(variables)),
          [](const std::string& path) -> absl::StatusOr<std::string> {
            return NotFound("there is no file {}", path);
          },
          [gpus]() -> absl::StatusOr<DeviceListing> {
            DeviceListing listing{{"null", "nvidiactl", "nvidia-uvm"}, {}};
            for (int k = 0; k < gpus; ++k) {
              listing.device_files.push_back("nvidia" + std::to_string(k));
            }
            return listing;
          }};
}

inline ClusterSpec SpecOf(const ClusterResolver& resolver) {
  auto spec = resolver.Spec();
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : ClusterSpec();
}

// Returns the master; "ERROR: …" for an error, so that comparisons show it.
inline std::string MasterOf(const ClusterResolver& resolver,
                            const TaskRequest& request = {}) {
  auto master = resolver.Master(request);
  return master.ok() ? *master : "ERROR: " + ErrorText(master.status());
}

// Returns the own task: "worker/3", or "-/-" if there is none.
inline std::string OwnTask(const ClusterResolver& resolver) {
  auto view = resolver.Resolve();
  if (!view.ok()) return "ERROR: " + ErrorText(view.status());
  return view->task_type.value_or("-") + "/" +
         (view->task_id ? std::to_string(*view->task_id) : "-");
}

inline TaskRequest Task(std::string type, int64_t id) {
  return {std::move(type), id, std::nullopt};
}

// Expects InvalidArgument whose text contains all these words.
inline void ExpectRefused(const absl::Status& status,
                          const std::vector<std::string>& words) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  for (const std::string& word : words) {
    EXPECT_THAT(ErrorText(status), ::testing::HasSubstr(word));
  }
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_CONFORMANCE_CLUSTER_RESOLVER_FIXTURE_H_
