#ifndef FEEDMILL_CLUSTER_H_
#define FEEDMILL_CLUSTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The tasks of one job: their index, and "host:port". Sparse.
using JobTasks = std::map<int64_t, std::string>;

// A cluster as plain data, unchecked. ClusterSpec is made from it, and has its
// text forms.
// Source: tf.train.ClusterDef.
struct ClusterDef {
  struct Job {
    std::string name;
    JobTasks tasks;
    friend bool operator==(const Job&, const Job&) = default;
  };
  std::vector<Job> jobs;
  friend bool operator==(const ClusterDef&, const ClusterDef&) = default;
};

// A cluster and the server's own task in it, as plain data. CompleteServerDef
// fills in fields without a value.
// Source: tf.train.ServerDef.
struct ServerDef {
  ClusterDef cluster{};
  std::string job_name{};               // "": the cluster's only job
  std::optional<int64_t> task_index{};  // absent: the job's only task
  std::string protocol{};               // "": tcp, the only one
  uint16_t port = 0;                    // 0: as in the task's address
  friend bool operator==(const ServerDef&, const ServerDef&) = default;
};

// Fields that replace fields of a ServerDef. 0 and "" count as given.
struct ServerTask {
  std::optional<std::string> job_name{};
  std::optional<int64_t> task_index{};
  std::optional<std::string> protocol{};
};

// The tasks of a cluster: named jobs, each a list of addresses or a sparse map
// from task index to address. An immutable value: copies are independent, and
// the order of jobs does not matter for equality.
//
//   auto spec = ClusterSpec::FromJobs({
//       {"dispatcher", {"d0:5050"}},
//       {"worker", JobTasks{{0, "w0:5051"}, {3, "w3:5051"}}}});
//   spec->TaskAddress("worker", 3);  // "w3:5051"
//
// Source: tf.train.ClusterSpec. Where that raised TypeError or ValueError for a
// wrong value, this is InvalidArgument; for an unknown job or task, NotFound.
// Unlike it: addresses, indices and names are checked, nothing is shared with
// the caller, an empty job is no trap, and a spec can be hashed.
class ClusterSpec {
 public:
  // A job's tasks as one writes them: dense or sparse.
  using Tasks = std::variant<std::vector<std::string>, JobTasks>;

  ClusterSpec() = default;  // no jobs

  // InvalidArgument names the job and task: an empty or repeated job name, a
  // negative index, an address that is not host:port.
  static absl::StatusOr<ClusterSpec> FromJobs(
      const std::vector<std::pair<std::string, Tasks>>& jobs);
  static absl::StatusOr<ClusterSpec> FromDef(const ClusterDef& def);
  // {"worker": ["h:1", …] or {"3": "h:1"}, …}. YAML takes integer keys too.
  // InvalidArgument says where in the text.
  static absl::StatusOr<ClusterSpec> FromJson(std::string_view text);
  static absl::StatusOr<ClusterSpec> FromYaml(std::string_view text);

  // Jobs in the order given. False if there are none.
  std::vector<std::string> Jobs() const;
  bool empty() const { return jobs_.empty(); }
  explicit operator bool() const { return !empty(); }

  // The tasks that are defined; of a sparse job fewer than its highest index.
  absl::StatusOr<size_t> NumTasks(std::string_view job) const;
  absl::StatusOr<std::vector<int64_t>> TaskIndices(std::string_view job) const;
  absl::StatusOr<std::string> TaskAddress(std::string_view job,
                                          int64_t index) const;
  // One entry an index up to the highest; nullopt in the holes.
  absl::StatusOr<std::vector<std::optional<std::string>>> JobTaskList(
      std::string_view job) const;

  // Dense jobs as lists, sparse ones as maps.
  std::vector<std::pair<std::string, Tasks>> AsDict() const;
  // Jobs and tasks sorted, so that equal specs give equal defs.
  ClusterDef AsClusterDef() const;

  // The forms that FromJson and FromYaml read. Sorted.
  std::string ToJson() const;
  std::string ToYaml() const;
  // ClusterSpec({'ps': ['h:1'], 'worker': {3: 'h:2'}}), jobs sorted.
  std::string ToString() const;

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b) {
    return a.AsClusterDef() == b.AsClusterDef();
  }
  template <class H>
  friend H AbslHashValue(H state, const ClusterSpec& spec) {
    return H::combine(std::move(state), spec.ToString());
  }

 private:
  const JobTasks* Find(std::string_view job) const;

  std::vector<ClusterDef::Job> jobs_;
};

// Checks "host:port": a name, an IPv4 address or a bracketed IPv6 one, and a
// port of 0–65535 or a placeholder such as %port%. InvalidArgument says what
// is wrong with it.
absl::Status CheckTaskAddress(std::string_view address);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_CLUSTER_H_
