#include "client/session_options.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/clock.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/sequenced_place.h"

namespace feedmill {
namespace {

constexpr size_t kNameMax = 256;
constexpr uint64_t kRelayBudget = uint64_t{8} << 20;

uint64_t RandomBits() {
  std::random_device device;
  return std::uniform_int_distribution<uint64_t>()(device);
}

absl::Status CheckName(std::string_view what, const std::string& name) {
  if (name.size() > kNameMax || name.starts_with('@')) {
    return InvalidArgument(
        "{} \"{}\": a name has at most {} bytes and does not begin with '@'",
        what, name.substr(0, 100), kNameMax);
  }
  return absl::OkStatus();
}

absl::Status CheckRanks(const ReadOptions& options) {
  if (options.rank.count == 1) return absl::OkStatus();
  if (options.job.name.empty()) {
    return InvalidArgument(
        "consumer {}/{} needs the name of the job that the consumers share: "
        "set ReadOptions::job.name",
        options.rank.index, options.rank.count);
  }
  if (!options.job.consumer.empty()) {
    return InvalidArgument("consumer {}/{} has no other name (\"{}\")",
                           options.rank.index, options.rank.count,
                           options.job.consumer);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReadSessionSettings> MakeSessionSettings(
    const AnalyzedGraph& graph, const ReadOptions& options,
    const ReadRules& rules, const std::optional<ReadToken>& token) {
  FM_RETURN_IF_ERROR(CheckName("job", options.job.name));
  FM_RETURN_IF_ERROR(CheckName("consumer", options.job.consumer));
  if (options.limits.budget_bytes == 0) {
    return InvalidArgument("budget_bytes must be above 0");
  }
  if (options.job.weight == 0 || options.job.weight > kWeightMax) {
    return InvalidArgument("weight is {}; it must be 1 to {}",
                           options.job.weight, kWeightMax);
  }
  FM_RETURN_IF_ERROR(CheckRanks(options));
  ReadSessionSettings settings;
  settings.share = rules.share;
  settings.graph = CanonicalText(graph.graph);
  settings.order = graph.graph.options.order;
  settings.seed = graph.graph.options.seed.value_or(RandomBits());
  settings.take_over = options.job.take_over;
  settings.weight = options.job.weight;
  settings.budget_bytes = options.limits.budget_bytes;
  if (options.transport.kind == Transport::kRelay) {
    // The whole budget may be queued in the dispatcher.
    settings.budget_bytes = std::min(settings.budget_bytes, kRelayBudget);
  }
  settings.quota_bytes = std::min(settings.quota_bytes, settings.budget_bytes);
  std::string consumer = options.job.consumer;
  const bool alone = settings.order == Order::kDeterministic;
  if (consumer.empty()) {
    consumer =
        !alone || options.job.name.empty()
            ? fmt::format("{:016x}", RandomBits())
        : options.rank.count == 1
            ? "solo"
            : fmt::format("{}/{}", options.rank.index, options.rank.count);
  }
  settings.job =
      JobName(options.job.name.empty() ? "@" + consumer : options.job.name);
  if (token) {
    settings.seed = token->seed;
    settings.run = RunNumber(token->iteration + 1);
    settings.start = token->place.cursor;
    settings.state = token->place.state;
    settings.passes = token->passes;
    settings.settled = token->settled;
  } else if (options.epoch) {
    settings.run = RunNumber(*options.epoch + 1);
    settings.begins = true;
  }
  if (!rules.numbered && !settings.shared()) {
    SequenceStart& begin = settings.sequence.emplace();
    if (token) begin = {token->place.elements, SequencedState(token->place)};
  }
  if (rules.numbered) {
    settings.start.p = PlaceTracker(rules).NeededFrom(settings.start.p);
  }
  settings.session = {
      ConsumerId(consumer),
      Incarnation(NextIncarnation(token ? token->incarnation : 0))};
  return settings;
}

}  // namespace feedmill
