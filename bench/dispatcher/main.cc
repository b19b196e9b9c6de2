// Loads for a dispatcher; bench/run dispatcher runs them. See load.h.
//
//   bench_dispatcher splits ADDRESS SPLITS [SLOTS]
//   bench_dispatcher heartbeats ADDRESS WORKERS NAME SECONDS
//   bench_dispatcher echo
//   bench_dispatcher recovery WORK_DIR SPLITS

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/dispatcher/load.h"
#include "core/base/status.h"

namespace {

using feedmill::bench::RunEcho;
using feedmill::bench::RunHeartbeats;
using feedmill::bench::RunRecovery;
using feedmill::bench::RunSplits;
using feedmill::bench::SplitLoad;

absl::StatusOr<std::string> Run(const std::vector<std::string>& words) {
  if ((words.size() == 3 || words.size() == 4) && words[0] == "splits") {
    SplitLoad load{.dispatcher = words[1], .splits = std::stoull(words[2])};
    if (words.size() == 4) {
      load.slots = static_cast<uint32_t>(std::stoul(words[3]));
    }
    return RunSplits(load);
  }
  if (words.size() == 5 && words[0] == "heartbeats") {
    return RunHeartbeats({words[1], static_cast<uint32_t>(std::stoul(words[2])),
                          words[3], absl::Seconds(std::stoi(words[4]))});
  }
  if (words.size() == 1 && words[0] == "echo") return RunEcho();
  if (words.size() == 3 && words[0] == "recovery") {
    return RunRecovery({words[1], std::stoull(words[2])});
  }
  return feedmill::InvalidArgument(
      "bench_dispatcher splits ADDRESS SPLITS [SLOTS] | heartbeats ADDRESS "
      "WORKERS "
      "NAME SECONDS | echo | recovery WORK_DIR SPLITS");
}

}  // namespace

int main(int argc, char** argv) {
  const auto result = Run({argv + 1, argv + argc});
  if (!result.ok()) {
    std::fprintf(stderr, "bench_dispatcher: %s\n",
                 feedmill::ErrorText(result.status()).c_str());
    return 1;
  }
  std::puts(result->c_str());
  return 0;
}
