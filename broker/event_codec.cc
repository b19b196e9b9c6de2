#include "broker/event_codec.h"

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/base/leb128.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/plan/plan_id.h"

namespace feedmill {
namespace {

// The first byte. It changes with any field, and with the plans to which the
// events refer. Version 7 lacks EndingNoted and has two values of RunEnding;
// its bytes are read without conversion. Versions before 9 have no datasets,
// versions before 10 no findings of the autoscaler, and versions before 11 no
// silence of readers. Bytes without such a silence have version 10. Versions
// before 12 have no sequenced runs; bytes without one have an earlier version.
constexpr char kVersion = 12;
constexpr char kSequencedVersion = 12;
constexpr char kSilenceVersion = 11;
constexpr char kScaleVersion = 10;
constexpr char kDatasetsVersion = 9;
constexpr char kOldestVersion = 7;
static_assert(kPlanVersion == 2, "another plan version needs another one here");

// ---- the fields of each type, in order, for writing and reading alike

template <class E, class T>
concept Like = std::same_as<std::remove_const_t<E>, T>;

auto Fields(Like<Cursor> auto& c) { return std::tie(c.p, c.i); }
auto Fields(Like<SplitId> auto& s) { return std::tie(s.journal, s.number); }
auto Fields(Like<SessionKey> auto& k) { return std::tie(k.job, k.consumer); }
auto Fields(Like<Share> auto& s) { return std::tie(s.rank, s.ranks); }
auto Fields(Like<SplitReport> auto& r) {
  return std::tie(r.split, r.taken, r.out);
}

auto Fields(Like<JobCreated> auto& e) {
  return std::tie(e.job, e.graph, e.fingerprint, e.order, e.seed);
}
auto Fields(Like<RunStarted> auto& e) {
  return std::tie(e.job, e.run, e.iteration);
}
auto Fields(Like<ManifestKnown> auto& e) { return std::tie(e.job, e.manifest); }
auto Fields(Like<RunPlanned> auto& e) {
  return std::tie(e.job, e.source_size, e.positions, e.first_split, e.plan,
                  e.passes);
}
auto Fields(Like<SessionOpened> auto& e) {
  return std::tie(e.key, e.incarnation, e.start, e.share);
}
auto Fields(Like<SplitRange> auto& r) { return std::tie(r.first, r.count); }
auto Fields(Like<SplitsBound> auto& e) {
  return std::tie(e.first, e.owner, e.begin, e.end, e.size);
}
auto Fields(Like<SplitsTaken> auto& e) { return std::tie(e.reports); }
auto Fields(Like<SplitFailed> auto& e) { return std::tie(e.split, e.status); }
auto Fields(Like<SplitsEnded> auto& e) { return std::tie(e.ranges); }
auto Fields(Like<SessionClosed> auto& e) { return std::tie(e.key, e.for_good); }
auto Fields(Like<RunFailed> auto& e) { return std::tie(e.job, e.status); }
auto Fields(Like<RunFinished> auto& e) { return std::tie(e.job, e.complete); }
auto Fields(Like<JobForgotten> auto& e) { return std::tie(e.job); }
auto Fields(Like<RunExtended> auto& e) {
  return std::tie(e.job, e.passes, e.last);
}

auto Fields(Like<RankFinished> auto& e) {
  return std::tie(e.key, e.incarnation, e.rank, e.run);
}

auto Fields(Like<EndingNoted> auto& e) { return std::tie(e.job, e.ending); }

auto Fields(Like<DatasetRegistered> auto& e) { return std::tie(e.id, e.graph); }
auto Fields(Like<ScaleMemory::Job> auto& j) {
  return std::tie(j.name, j.hold_s, j.need_milli, j.rate_milli, j.until_s);
}
auto Fields(Like<ScaleMemory> auto& m) {
  return std::tie(m.decided, m.wanted, m.floor_workers, m.floor_low_milli,
                  m.floor_until_s, m.floor_hold_s, m.jobs);
}
auto Fields(Like<ScaleNoted> auto& e) { return std::tie(e.memory); }
auto Fields(Like<RunSequenced> auto& e) { return std::tie(e.job); }
auto Fields(Like<ReaderSilent> auto& e) { return std::tie(e.key, e.eighths); }

auto Fields(Like<SplitState> auto& s) {
  return std::tie(s.owner, s.begin, s.end, s.taken, s.out, s.error);
}
auto Fields(Like<SessionState> auto& s) {
  return std::tie(s.incarnation, s.share, s.next, s.splits, s.waiting);
}
auto Fields(Like<JobState> auto& j) {
  return std::tie(j.name, j.graph, j.fingerprint, j.order, j.seed, j.resolved,
                  j.manifest, j.run, j.iteration, j.phase, j.ending, j.error,
                  j.source_size, j.positions, j.first_split, j.plan, j.sessions,
                  j.open_splits, j.ended_positions, j.fresh, j.returned,
                  j.idle_since, j.ranks, j.finished, j.lives, j.passes,
                  j.settled, j.passes_of);
}
// Without datasets, findings of the autoscaler and silence, which stand at the
// end.
auto Fields(Like<DispatcherState> auto& s) {
  return std::tie(s.journal, s.sequence, s.next_split, s.jobs, s.splits,
                  s.closed, s.closed_order, s.idle_jobs);
}

template <class T>
concept Record = requires(T& t) { Fields(t); };
template <class T>
concept Map = requires { typename T::mapped_type; };
template <class T>
concept Items = requires(const T& t) {
  t.begin();
  t.size();
} && !Map<T> && !std::same_as<T, std::string>;

// ---- writing

class Writer {
 public:
  std::string Take() { return std::move(bytes_); }

  void Put(uint64_t value) { PutLeb128(bytes_, value); }
  void Put(bool value) { Put(uint64_t{value}); }
  template <class E>
    requires std::is_enum_v<E>
  void Put(E value) {
    Put(static_cast<uint64_t>(value));
  }
  void Put(const std::string& text) {
    Put(uint64_t{text.size()});
    bytes_ += text;
  }
  template <class Tag, class T>
  void Put(const StrongId<Tag, T>& id) {
    Put(id.value());
  }
  void Put(const absl::Status& status) {
    Put(status.code());
    if (!status.ok()) Put(ErrorText(status));
  }
  void Put(const RangePool& pool) { Put(pool.Serialize()); }
  template <class A, class B>
  void Put(const std::pair<A, B>& pair) {
    Put(pair.first);
    Put(pair.second);
  }
  template <class C>
    requires(Items<C> || Map<C>)
  void Put(const C& items) {
    Put(uint64_t{items.size()});
    for (const auto& item : items) Put(item);
  }
  template <Record R>
  void Put(const R& record) {
    std::apply([this](const auto&... field) { (this->Put(field), ...); },
               Fields(record));
  }

 private:
  std::string bytes_;
};

// ---- reading

// Reads fields. The first error is kept in error(); values that are read after
// it are meaningless.
class FieldParser {
 public:
  explicit FieldParser(std::string_view bytes) : rest_(bytes) {}

  // OK if no error occurred and all bytes were read.
  absl::Status Finish() const {
    if (!error_.ok()) return error_;
    if (rest_.empty()) return absl::OkStatus();
    return DataLoss("{} bytes are left over", rest_.size());
  }
  void Refuse(absl::Status status) {
    if (error_.ok()) error_ = std::move(status);
    rest_ = {};
  }

  void Get(uint64_t& value) {
    const std::optional<uint64_t> taken = TakeLeb128(rest_);
    value = taken.value_or(0);
    if (!taken) Refuse(DataLoss("a number is cut or has more than 64 bits"));
  }
  void Get(bool& value) { value = Bounded(1) != 0; }
  void Get(Order& order) {
    order = static_cast<Order>(Bounded(static_cast<uint64_t>(Order::kAny)));
  }
  void Get(RunPhase& phase) {
    phase = static_cast<RunPhase>(
        Bounded(static_cast<uint64_t>(RunPhase::kFailed)));
  }
  void Get(RunEnding& ending) {
    ending = static_cast<RunEnding>(
        Bounded(static_cast<uint64_t>(RunEnding::kCancelled)));
  }
  void Get(std::string& text) {
    const uint64_t size = Size();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  template <class Tag, class T>
  void Get(StrongId<Tag, T>& id) {
    T value{};
    Get(value);
    id = StrongId<Tag, T>(std::move(value));
  }
  void Get(absl::Status& status) {
    const uint64_t code =
        Bounded(static_cast<uint64_t>(absl::StatusCode::kUnauthenticated));
    status = absl::OkStatus();
    if (code == 0) return;
    std::string text;
    Get(text);
    status = absl::Status(static_cast<absl::StatusCode>(code), text);
  }
  void Get(RangePool& pool) {
    std::string bytes;
    Get(bytes);
    absl::StatusOr<RangePool> parsed = RangePool::Parse(bytes);
    if (!parsed.ok()) return Refuse(parsed.status());
    pool = *std::move(parsed);
  }
  template <class A, class B>
  void Get(std::pair<A, B>& pair) {
    Get(pair.first);
    Get(pair.second);
  }
  template <Items C>
  void Get(C& items) {
    typename C::value_type item{};
    for (uint64_t left = Size(); left > 0 && error_.ok(); --left) {
      Get(item);
      items.insert(items.end(), item);
    }
  }
  template <Map M>
  void Get(M& map) {
    for (uint64_t left = Size(); left > 0 && error_.ok(); --left) {
      std::pair<typename M::key_type, typename M::mapped_type> item;
      Get(item);
      map.insert(std::move(item));
    }
  }
  template <Record R>
  void Get(R& record) {
    std::apply([this](auto&... field) { (this->Get(field), ...); },
               Fields(record));
  }

 private:
  uint64_t Bounded(uint64_t max) {
    uint64_t value = 0;
    Get(value);
    if (value <= max) return value;
    Refuse(DataLoss("{} is no value here, at most {} is", value, max));
    return 0;
  }
  // A length; each item has a byte at least.
  uint64_t Size() {
    const uint64_t size = Bounded(rest_.size());
    if (size <= rest_.size()) return size;
    Refuse(DataLoss("it ends too early"));
    return 0;
  }

  std::string_view rest_;
  absl::Status error_;
};

absl::StatusOr<char> TakeVersion(std::string_view& bytes) {
  if (bytes.empty()) return DataLoss("it is empty");
  if (bytes.front() < kOldestVersion || bytes.front() > kVersion) {
    return DataLoss(
        "it has version {} of {} release, and this release reads versions {} "
        "to {}",
        int{bytes.front()}, bytes.front() > kVersion ? "a newer" : "an older",
        int{kOldestVersion}, int{kVersion});
  }
  const char version = bytes.front();
  bytes.remove_prefix(1);
  return version;
}

// The kind is the event's place in the variant, so that list only grows.
template <size_t kKind = 0>
DispatcherEvent ReadEvent(uint64_t kind, FieldParser& parser) {
  if constexpr (kKind < std::variant_size_v<DispatcherEvent>) {
    if (kind != kKind) return ReadEvent<kKind + 1>(kind, parser);
    std::variant_alternative_t<kKind, DispatcherEvent> event;
    parser.Get(event);
    return event;
  } else {
    parser.Refuse(DataLoss("kind {} of event is not known", kind));
    return {};
  }
}

// ---- soundness

absl::Status CheckSession(const DispatcherState& state, const SessionKey& key,
                          const SessionState& session) {
  for (const SplitId& id : session.splits) {
    const SplitState* split = state.FindSplit(id);
    if (split == nullptr || split->owner != key) {
      return DataLoss("split {} of '{}' is not there", id.number,
                      key.consumer.value());
    }
  }
  for (const SplitId& id : session.waiting) {
    if (!session.splits.contains(id)) {
      return DataLoss("split {} waits for '{}', which does not have it",
                      id.number, key.consumer.value());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckState(const DispatcherState& state) {
  size_t splits = 0;
  for (const auto& [name, job] : state.jobs) {
    size_t own = 0;
    for (const auto& [consumer, session] : job.sessions) {
      FM_RETURN_IF_ERROR(CheckSession(state, {name, consumer}, session));
      own += session.splits.size();
    }
    if (job.name != name || job.open_splits != own ||
        (job.phase == RunPhase::kRunning && job.passes == 0 && !job.settled)) {
      return DataLoss("job '{}' contradicts its own sessions", name.value());
    }
    splits += own;
  }
  if (splits != state.splits.size()) {
    return DataLoss("{} splits belong to sessions, and there are {}", splits,
                    state.splits.size());
  }
  for (const auto& [since, name] : state.idle_jobs) {
    if (!state.jobs.contains(name)) {
      return DataLoss("idle job '{}' is not there", name.value());
    }
  }
  if (state.closed.size() != state.closed_order.size()) {
    return DataLoss("the closed sessions are not in order");
  }
  return absl::OkStatus();
}

struct FollowsCheck {
  const DispatcherState& state;

  absl::Status Job(const JobName& name) const {
    if (state.FindJob(name) != nullptr) return absl::OkStatus();
    return DataLoss("there is no job '{}'", name.value());
  }
  absl::Status At(const SessionKey& key) const {
    if (state.FindSession(key) != nullptr) return absl::OkStatus();
    return DataLoss("there is no session '{}' of job '{}'",
                    key.consumer.value(), key.job.value());
  }
  absl::Status Split(const SplitId& id) const {
    if (state.FindSplit(id) != nullptr) return absl::OkStatus();
    return DataLoss("there is no split {}", id.number);
  }

  absl::Status operator()(const JobCreated& e) const {
    if (state.FindJob(e.job) == nullptr) return absl::OkStatus();
    return DataLoss("there is a job '{}' already", e.job.value());
  }
  absl::Status operator()(const SessionOpened& e) const {
    if (!e.share.sound()) {
      return DataLoss("there is no rank {} of {}", e.share.rank, e.share.ranks);
    }
    return Job(e.key.job);
  }
  absl::Status operator()(const SplitsBound& e) const {
    FM_RETURN_IF_ERROR(At(e.owner));
    if (e.begin >= e.end || e.end.i != 0 || e.size == 0 ||
        e.count() > kBoundTogetherMax ||
        e.first.number > ~uint64_t{0} - e.count()) {
      return DataLoss("the positions {} to {} are not splits of {}", e.begin.p,
                      e.end.p, e.size);
    }
    const auto next = state.splits.lower_bound(e.first);
    if (next != state.splits.end() && next->first < e.name(e.count())) {
      return DataLoss("there is a split {} already", next->first.number);
    }
    const JobState& job = *state.FindJob(e.owner.job);
    if (job.order == Order::kDeterministic) return absl::OkStatus();
    const RangePool::Range left = job.Unbound();
    if (e.begin == left.begin && e.end <= left.end) return absl::OkStatus();
    return DataLoss("the positions from {} are not next", e.begin.p);
  }
  absl::Status operator()(const SplitsTaken& e) const {
    for (const SplitReport& report : e.reports) {
      FM_RETURN_IF_ERROR(Split(report.split));
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const SplitFailed& e) const { return Split(e.split); }
  absl::Status operator()(const SplitsEnded& e) const {
    SplitId next{};
    for (const SplitRange& range : e.ranges) {
      FM_RETURN_IF_ERROR(Split(range.first));
      if (range.first < next || range.count == 0 ||
          range.count > state.splits.size()) {
        return DataLoss("split {} ends twice", range.first.number);
      }
      for (uint64_t k = 0; k < range.count; ++k) {
        FM_RETURN_IF_ERROR(Split(range.name(k)));
      }
      next = range.name(range.count);
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const SessionClosed& e) const { return At(e.key); }
  absl::Status operator()(const DatasetRegistered& e) const {
    if (!state.datasets.contains(e.id)) return absl::OkStatus();
    return DataLoss("there is a dataset '{}' already", e.id);
  }
  absl::Status operator()(const ScaleNoted&) const { return absl::OkStatus(); }
  absl::Status operator()(const ReaderSilent& e) const {
    FM_RETURN_IF_ERROR(At(e.key));
    if (e.eighths <= kSilenceMax) return absl::OkStatus();
    return DataLoss("a reader is silent for {} eighths", e.eighths);
  }
  absl::Status operator()(const RunSequenced& e) const {
    FM_RETURN_IF_ERROR(Job(e.job));
    const JobState& job = *state.FindJob(e.job);
    if (job.phase == RunPhase::kPlanning &&
        job.order == Order::kDeterministic) {
      return absl::OkStatus();
    }
    return DataLoss("the run of job '{}' cannot be sequenced", e.job.value());
  }
  absl::Status operator()(const RunPlanned& e) const {
    FM_RETURN_IF_ERROR(Job(e.job));
    if (e.passes == 0 || (e.passes <= kPassesMax && e.positions > 0 &&
                          e.positions % e.passes == 0)) {
      return absl::OkStatus();
    }
    return DataLoss("{} positions are not {} passes", e.positions, e.passes);
  }
  absl::Status operator()(const RankFinished& e) const {
    FM_RETURN_IF_ERROR(Job(e.key.job));
    const JobState& job = *state.FindJob(e.key.job);
    if (job.order == Order::kDeterministic && e.rank < job.ranks) {
      return absl::OkStatus();
    }
    return DataLoss("job '{}' has no rank {}", e.key.job.value(), e.rank);
  }
  absl::Status operator()(const RunExtended& e) const {
    FM_RETURN_IF_ERROR(Job(e.job));
    const JobState& job = *state.FindJob(e.job);
    const bool planning = job.phase == RunPhase::kPlanning;
    // A rank may report a smaller number that was final before.
    const bool may_be_fewer = e.last && job.order == Order::kDeterministic;
    if (job.over() || (e.passes < job.passes && !may_be_fewer) ||
        e.passes > kPassesMax || (!planning && job.passes == 0) ||
        e.passes == 0) {
      return DataLoss("job '{}' has {} passes, and cannot have {}",
                      e.job.value(), job.passes, e.passes);
    }
    return absl::OkStatus();
  }
  // All other events require that their job exists.
  absl::Status operator()(const auto& e) const { return Job(e.job); }
};

std::map<SessionKey, uint64_t> SilenceOf(const DispatcherState& state) {
  std::map<SessionKey, uint64_t> silence;
  for (const auto& [name, job] : state.jobs) {
    for (const auto& [consumer, session] : job.sessions) {
      if (session.silence > 0) silence[{name, consumer}] = session.silence;
    }
  }
  return silence;
}

absl::Status SetSilence(const std::map<SessionKey, uint64_t>& silence,
                        DispatcherState& state) {
  for (const auto& [key, eighths] : silence) {
    const ReaderSilent event{key, eighths};
    FM_RETURN_IF_ERROR(FollowsCheck{state}(event));
    state.jobs.at(key.job).sessions.at(key.consumer).silence = eighths;
  }
  return absl::OkStatus();
}

// Names of the jobs whose runs are sequenced.
std::vector<JobName> SequencedOf(const DispatcherState& state) {
  std::vector<JobName> sequenced;
  for (const auto& [name, job] : state.jobs) {
    if (job.sequenced) sequenced.push_back(name);
  }
  return sequenced;
}

absl::Status SetSequenced(const std::vector<JobName>& sequenced,
                          DispatcherState& state) {
  for (const JobName& name : sequenced) {
    const auto job = state.jobs.find(name);
    if (job == state.jobs.end() || job->second.order != Order::kDeterministic) {
      return DataLoss("the run of job '{}' cannot be sequenced", name.value());
    }
    job->second.sequenced = true;
  }
  return absl::OkStatus();
}

char VersionOf(const DispatcherEvent& event) {
  if (std::holds_alternative<RunSequenced>(event)) return kSequencedVersion;
  return std::holds_alternative<ReaderSilent>(event) ? kSilenceVersion
                                                     : kScaleVersion;
}

}  // namespace

std::string EncodeEvent(const DispatcherEvent& event) {
  Writer writer;
  writer.Put(static_cast<uint64_t>(VersionOf(event)));
  writer.Put(uint64_t{event.index()});
  std::visit([&writer](const auto& e) { writer.Put(e); }, event);
  return writer.Take();
}

absl::StatusOr<DispatcherEvent> DecodeEvent(std::string_view bytes) {
  FM_RETURN_IF_ERROR(TakeVersion(bytes).status());
  FieldParser parser(bytes);
  uint64_t kind = 0;
  parser.Get(kind);
  DispatcherEvent event = ReadEvent(kind, parser);
  FM_RETURN_IF_ERROR(parser.Finish());
  return event;
}

std::string EncodeState(const DispatcherState& state) {
  Writer writer;
  const std::map<SessionKey, uint64_t> silence = SilenceOf(state);
  const std::vector<JobName> sequenced = SequencedOf(state);
  const char version = !sequenced.empty() ? kSequencedVersion
                       : silence.empty()  ? kScaleVersion
                                          : kSilenceVersion;
  writer.Put(static_cast<uint64_t>(version));
  writer.Put(state);
  writer.Put(state.datasets);
  writer.Put(state.scale);
  if (version >= kSilenceVersion) writer.Put(silence);
  if (version >= kSequencedVersion) writer.Put(sequenced);
  return writer.Take();
}

absl::StatusOr<DispatcherState> DecodeState(std::string_view bytes) {
  FM_ASSIGN_OR_RETURN(const char version, TakeVersion(bytes));
  FieldParser parser(bytes);
  DispatcherState state;
  parser.Get(state);
  if (version >= kDatasetsVersion) parser.Get(state.datasets);
  if (version >= kScaleVersion) parser.Get(state.scale);
  std::map<SessionKey, uint64_t> silence;
  if (version >= kSilenceVersion) parser.Get(silence);
  std::vector<JobName> sequenced;
  if (version >= kSequencedVersion) parser.Get(sequenced);
  FM_RETURN_IF_ERROR(parser.Finish());
  FM_RETURN_IF_ERROR(CheckState(state));
  FM_RETURN_IF_ERROR(SetSilence(silence, state));
  FM_RETURN_IF_ERROR(SetSequenced(sequenced, state));
  for (const auto& [name, job] : state.jobs) state.job_bytes += job.bytes();
  return state;
}

absl::Status CheckFollows(const DispatcherState& state,
                          const DispatcherEvent& event) {
  return std::visit(FollowsCheck{state}, event);
}

}  // namespace feedmill
