#include "core/storage/postgres_journal.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"

namespace feedmill {
namespace {

constexpr uint64_t kPostgresRowBytes = 64;  // the server's, for each event
// Part of the lease that the writer trusts: clocks differ in their speed.
constexpr double kCertainPartOfLease = 0.9;
constexpr std::string_view kStateOption = "state=";
// A standby shows itself that often, and the writer looks as often.
constexpr absl::Duration kBetweenStandbyRows = absl::Seconds(2);
constexpr absl::Duration kAfterDamage = absl::Seconds(5);

// All numbers are bigint: 64 bits, with a sign that means nothing.
std::string NumberText(uint64_t number) {
  return fmt::format("{}", static_cast<int64_t>(number));
}
uint64_t NumberOf(const std::optional<std::string>& text) {
  int64_t number = 0;
  return text && absl::SimpleAtoi(*text, &number)
             ? static_cast<uint64_t>(number)
             : 0;
}

// Takes "state=NAME" out of the options of a URL. Returns the name.
std::string TakeStateName(std::string& url) {
  const size_t question = url.find('?');
  if (question == url.npos) return "default";
  size_t at = question + 1;
  while (at < url.size() && std::string_view(url).substr(
                                at, kStateOption.size()) != kStateOption) {
    const size_t next = url.find('&', at);
    if (next == url.npos) return "default";
    at = next + 1;
  }
  const size_t end = std::min(url.find('&', at), url.size());
  const std::string name =
      url.substr(at + kStateOption.size(), end - at - kStateOption.size());
  url.erase(at, end - at + 1);
  if (url.ends_with('?') || url.ends_with('&')) url.pop_back();
  return name;
}

// Prefers the server that takes writes, and notices one that stands still.
std::string WithDefaults(std::string url) {
  for (const std::string_view option :
       {"target_session_attrs=read-write", "connect_timeout=3",
        "tcp_user_timeout=3000"}) {
    const std::string_view key = option.substr(0, option.find('='));
    if (url.find(key) != url.npos) continue;
    url += url.find('?') == url.npos ? '?' : '&';
    url += option;
  }
  return url;
}

// Returns bytes of a column; nullopt: there are none.
std::optional<std::string> BytesAt(const PostgresConnection::Row& row,
                                   size_t column) {
  return row[column] ? PostgresConnection::BytesOf(*row[column]) : std::nullopt;
}

std::string MillisecondsText(absl::Duration time) {
  return fmt::format("{}", absl::ToInt64Milliseconds(time));
}

}  // namespace

PostgresJournal::PostgresJournal(std::string name, Options options)
    : name_(std::move(name)),
      options_(std::move(options)),
      holder_(ThisProcess()) {}

absl::StatusOr<std::unique_ptr<PostgresJournal>> PostgresJournal::Open(
    const std::string& url, Options options) {
  std::string rest = url;
  std::string name = TakeStateName(rest);
  std::unique_ptr<PostgresJournal> journal(
      new PostgresJournal(std::move(name), std::move(options)));
  const absl::Status status = journal->Begin(WithDefaults(std::move(rest)));
  if (absl::IsDataLoss(status)) {
    return DataLoss(
        "the journal \"{}\" in '{}' cannot be used: {}. Restore the rows of "
        "its "
        "tables as they were last, or delete them: then jobs are forgotten and "
        "readers start again",
        journal->name_, HideUrlSecrets(url), ErrorText(status));
  }
  FM_RETURN_IF_ERROR(
      Annotate(status, fmt::format("the journal \"{}\" in '{}'", journal->name_,
                                   HideUrlSecrets(url))));
  return journal;
}

absl::Status PostgresJournal::Begin(const std::string& url) {
  FM_ASSIGN_OR_RETURN(server_,
                      PostgresConnection::Open(url, options_.patience));
  FM_RETURN_IF_ERROR(MakeTables());
  FM_RETURN_IF_ERROR(TakeLease());
  HideStandby();
  return Load();
}

absl::StatusOr<PostgresConnection::Result> PostgresJournal::Repeat(
    const std::string& statement, const std::vector<std::string>& parameters) {
  const absl::Time begun = SteadyNow();
  while (true) {
    auto result = server_->Run(statement, parameters);
    if (!absl::IsAborted(result.status())) return result;
    if (SteadyNow() - begun > options_.patience) {
      return absl::UnavailableError(result.status().message());
    }
  }
}

absl::Status PostgresJournal::MakeTables() {
  for (const char* statement :
       {"CREATE TABLE IF NOT EXISTS feedmill_states ("
        "state text PRIMARY KEY, format bigint NOT NULL, "
        "journal bigint NOT NULL, epoch bigint NOT NULL, "
        "holder text NOT NULL, until timestamptz NOT NULL)",
        "CREATE TABLE IF NOT EXISTS feedmill_events ("
        "state text, sequence bigint, payload bytea NOT NULL, "
        "chain bytea NOT NULL, PRIMARY KEY (state, sequence))",
        "CREATE TABLE IF NOT EXISTS feedmill_snapshots ("
        "state text PRIMARY KEY, sequence bigint NOT NULL, "
        "payload bytea NOT NULL, chain bytea NOT NULL, "
        "checksum bytea NOT NULL)"}) {
    auto made = Repeat(statement, {});
    // Two processes that make a table at once may meet.
    if (absl::IsInvalidArgument(made.status())) made = Repeat(statement, {});
    FM_RETURN_IF_ERROR(made.status());
  }
  Repeat(
      "CREATE TABLE IF NOT EXISTS feedmill_standbys (state text, holder text, "
      "sequence bigint NOT NULL, seen timestamptz NOT NULL, PRIMARY KEY "
      "(state, holder))",
      {})
      .IgnoreError();
  return Repeat(
             "INSERT INTO feedmill_states VALUES ($1, $2, $3, 0, '', "
             "'-infinity') ON CONFLICT DO NOTHING",
             {name_, NumberText(kJournalFormat), NumberText(DrawJournal())})
      .status();
}

// ---- the lease

absl::Status PostgresJournal::TakeLease() {
  std::string seen;
  while (true) {
    FM_ASSIGN_OR_RETURN(
        const auto found,
        Repeat("SELECT format, holder, until > clock_timestamp() FROM "
               "feedmill_states WHERE state = $1",
               {name_}));
    if (found.rows.empty()) return DataLoss("its row is gone");
    if (NumberOf(found.rows[0][0]) != kJournalFormat) {
      return FailedPrecondition(
          "it has format {}, this release knows {}; use the release that wrote "
          "it",
          NumberOf(found.rows[0][0]), kJournalFormat);
    }
    const absl::Time begun = SteadyNow();
    // An answer that is lost takes the lease for nothing; it ends soon.
    const auto taken = Repeat(
        "UPDATE feedmill_states SET epoch = epoch + 1, holder = $2, until = "
        "clock_timestamp() + $3 * interval '1 millisecond' WHERE state = $1 "
        "AND until <= clock_timestamp() RETURNING epoch, journal",
        {name_, holder_, MillisecondsText(options_.lease)});
    FM_RETURN_IF_ERROR(taken.status());
    if (!taken->rows.empty()) {
      epoch_ = NumberOf(taken->rows[0][0]);
      id_ = NumberOf(taken->rows[0][1]);
      beaten_at_ = begun;
      certain_until_ = begun + kCertainPartOfLease * options_.lease;
      return absl::OkStatus();
    }
    // A lease that outlives one more wait than its length is held.
    const std::string holder = found.rows[0][1].value_or("");
    if (!options_.wait && holder == seen) {
      return FailedPrecondition(
          "it is led by {}; stop that one first, name another state, or wait "
          "for it with --standby",
          holder);
    }
    seen = holder;
    if (options_.stop()) return Cancelled("stopped while it waited");
    if (options_.wait) FM_RETURN_IF_ERROR(Follow());
    absl::SleepFor(options_.wait ? options_.lease / 5
                                 : options_.lease + absl::Milliseconds(100));
  }
}

// The writer changes the tables meanwhile, so that damage may only seem to be
// there.
absl::Status PostgresJournal::Follow() {
  const absl::Time now = SteadyNow();
  if (options_.follow && now >= follow_at_) {
    const absl::Status read = Load();
    if (absl::IsDataLoss(read)) {
      follow_at_ = now + kAfterDamage;
    } else {
      FM_RETURN_IF_ERROR(read);
      FM_RETURN_IF_ERROR(options_.follow(*this));
      ForgetContent();
    }
  }
  ShowStandby();
  return absl::OkStatus();
}

void PostgresJournal::ShowStandby() {
  const absl::Time now = SteadyNow();
  if (now - shown_at_ < kBetweenStandbyRows) return;
  shown_at_ = now;
  server_
      ->Run(
          "INSERT INTO feedmill_standbys VALUES ($1, $2, $3, "
          "clock_timestamp()) ON CONFLICT (state, holder) DO UPDATE SET "
          "sequence = excluded.sequence, seen = excluded.seen",
          {name_, holder_, NumberText(sequence_)})
      .IgnoreError();
}

void PostgresJournal::HideStandby() {
  if (shown_at_ == absl::InfinitePast()) return;
  shown_at_ = absl::InfinitePast();
  server_
      ->Run("DELETE FROM feedmill_standbys WHERE state = $1 AND holder = $2",
            {name_, ThisProcess()})
      .IgnoreError();
}

void PostgresJournal::LookForStandbys() {
  const absl::Time now = SteadyNow();
  if (now - looked_at_ < kBetweenStandbyRows) return;
  looked_at_ = now;
  const auto found = server_->Run(
      "WITH gone AS (DELETE FROM feedmill_standbys WHERE state = $1 AND seen < "
      "clock_timestamp() - interval '1 hour') SELECT holder, sequence, "
      "(extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint FROM "
      "feedmill_standbys WHERE state = $1 AND seen > clock_timestamp() - "
      "interval '15 seconds' ORDER BY holder",
      {name_});
  if (!found.ok()) return;
  auto standbys = std::make_shared<std::vector<Standby>>();
  for (const auto& row : found->rows) {
    standbys->push_back(
        {row[0].value_or(""),
         absl::Milliseconds(static_cast<int64_t>(NumberOf(row[2]))),
         NumberOf(row[1])});
  }
  standbys_ = std::move(standbys);
}

absl::Status PostgresJournal::Fenced() {
  const auto found = server_->Run(
      "SELECT holder FROM feedmill_states WHERE state = $1", {name_});
  return FailedPrecondition(
      "another dispatcher{} leads the state \"{}\" now; this one ends",
      found.ok() && !found->rows.empty()
          ? fmt::format(", {},", found->rows[0][0].value_or(""))
          : "",
      name_);
}

absl::Status PostgresJournal::Fail(absl::Status why) {
  return failure_ = Annotate(
             why, fmt::format("cannot write the journal \"{}\"", name_));
}

absl::Status PostgresJournal::Tick() {
  if (!failure_.ok() || SteadyNow() - beaten_at_ < options_.beat) {
    return failure_;
  }
  const absl::Time begun = SteadyNow();
  const auto beat = Repeat(
      "UPDATE feedmill_states SET until = clock_timestamp() + $3 * interval '1 "
      "millisecond', holder = $4 WHERE state = $1 AND epoch = $2",
      {name_, NumberText(epoch_), MillisecondsText(options_.lease), holder_});
  if (!beat.ok()) return Fail(beat.status());
  if (beat->affected == 0) return failure_ = Fenced();
  beaten_at_ = begun;
  certain_until_ = begun + kCertainPartOfLease * options_.lease;
  LookForStandbys();
  return absl::OkStatus();
}

absl::Status PostgresJournal::SayAddress(const std::string& address) {
  holder_ += " at " + address;
  beaten_at_ = absl::InfinitePast();
  return Tick();
}

PostgresJournal::~PostgresJournal() {
  if (server_ != nullptr) HideStandby();
  if (server_ == nullptr || epoch_ == 0 || !failure_.ok()) return;
  server_
      ->Run(
          "UPDATE feedmill_states SET until = '-infinity' WHERE state = $1 AND "
          "epoch = $2",
          {name_, NumberText(epoch_)})
      .IgnoreError();
}

// ---- events

absl::Status PostgresJournal::Load() {
  FM_ASSIGN_OR_RETURN(const auto found,
                      Repeat("SELECT journal, coalesce(feedmill_snapshots."
                             "sequence, 0) FROM feedmill_states LEFT JOIN "
                             "feedmill_snapshots USING (state) WHERE state = "
                             "$1",
                             {name_}));
  if (found.rows.empty()) return DataLoss("its row is gone");
  const uint64_t id = NumberOf(found.rows[0][0]);
  bool more = std::exchange(loaded_, false) && id == id_ &&
              NumberOf(found.rows[0][1]) == snapshot_sequence_;
  if (more && sequence_ > snapshot_sequence_) {
    FM_ASSIGN_OR_RETURN(more, EndsWith(sequence_, chain_));
  }
  if (!more) {
    id_ = id;
    content_ = {};
    content_.whole = true;
    sequence_ = snapshot_sequence_ = snapshot_bytes_ = event_bytes_ = 0;
    chain_ = ChainOf(id_);
    FM_RETURN_IF_ERROR(LoadSnapshot());
  }
  FM_RETURN_IF_ERROR(LoadEvents());
  loaded_ = true;
  return absl::OkStatus();
}

absl::Status PostgresJournal::LoadSnapshot() {
  FM_ASSIGN_OR_RETURN(const auto snapshots,
                      Repeat("SELECT sequence, payload, chain, checksum FROM "
                             "feedmill_snapshots WHERE state = $1",
                             {name_}));
  for (const auto& row : snapshots.rows) {
    sequence_ = snapshot_sequence_ = NumberOf(row[0]);
    content_.snapshot_sequence = sequence_;
    content_.snapshot = BytesAt(row, 1);
    const auto chain = BytesAt(row, 2);
    if (!content_.snapshot || !chain || chain->size() != sizeof(chain_)) {
      return DataLoss("the snapshot is damaged");
    }
    const ChainChecksum checksum =
        Extend(Extend(ChainOf(id_ ^ sequence_), *chain), *content_.snapshot);
    if (BytesAt(row, 3) != feedmill::BytesOf(checksum)) {
      return DataLoss("the snapshot does not match its checksum");
    }
    std::memcpy(chain_.data(), chain->data(), sizeof(chain_));
    snapshot_bytes_ = content_.snapshot->size();
  }
  return absl::OkStatus();
}

absl::Status PostgresJournal::LoadEvents() {
  constexpr size_t kPage = 20'000;
  while (true) {
    FM_ASSIGN_OR_RETURN(
        const auto page,
        Repeat("SELECT sequence, payload, chain FROM feedmill_events WHERE "
               "state = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
               {name_, NumberText(sequence_), NumberText(kPage)}));
    for (const auto& row : page.rows) {
      auto payload = BytesAt(row, 1);
      if (NumberOf(row[0]) != sequence_ + 1) {
        return DataLoss("event {} is missing", sequence_ + 1);
      }
      ++sequence_;
      if (payload) chain_ = Extend(chain_, *payload);
      if (!payload || BytesAt(row, 2) != feedmill::BytesOf(chain_)) {
        return DataLoss("event {} does not have its checksum", sequence_);
      }
      event_bytes_ += payload->size() + kPostgresRowBytes;
      content_.events.push_back(*std::move(payload));
    }
    if (page.rows.size() < kPage) return absl::OkStatus();
  }
}

absl::StatusOr<bool> PostgresJournal::EndsWith(uint64_t sequence,
                                               const ChainChecksum& chain) {
  FM_ASSIGN_OR_RETURN(
      const auto found,
      Repeat("SELECT chain FROM feedmill_events WHERE state = $1 AND sequence "
             "= $2",
             {name_, NumberText(sequence)}));
  return !found.rows.empty() && found.rows[0][0] &&
         PostgresConnection::BytesOf(*found.rows[0][0]) ==
             feedmill::BytesOf(chain);
}

absl::Status PostgresJournal::Append(std::span<const std::string> events) {
  if (events.empty() || !failure_.ok()) return failure_;
  std::vector<std::string_view> payloads;
  std::vector<ChainChecksum> chains;
  uint64_t bytes = 0;
  ChainChecksum chain = chain_;
  for (const std::string& event : events) {
    payloads.push_back(event);
    chains.push_back(chain = Extend(chain, event));
    bytes += event.size() + kPostgresRowBytes;
  }
  std::vector<std::string_view> chain_texts;
  for (const ChainChecksum& one : chains) {
    chain_texts.push_back(feedmill::BytesOf(one));
  }
  const std::vector<std::string> parameters = {
      name_, NumberText(epoch_), NumberText(sequence_),
      PostgresConnection::ArrayOf(payloads),
      PostgresConnection::ArrayOf(chain_texts)};
  const absl::Time begun = SteadyNow();
  while (true) {
    const auto done = server_->Run(
        "WITH held AS (SELECT 1 FROM feedmill_states WHERE state = $1 AND "
        "epoch = $2 FOR SHARE) INSERT INTO feedmill_events SELECT $1, "
        "$3::bigint + given.place, given.payload, given.chain FROM held, "
        "unnest($4::bytea[], $5::bytea[]) WITH ORDINALITY AS given(payload, "
        "chain, place)",
        parameters);
    if (done.ok() && done->affected == events.size()) break;
    if (done.ok()) return failure_ = Fenced();
    if (!absl::IsAborted(done.status()) &&
        !absl::IsInvalidArgument(done.status())) {
      return Fail(done.status());
    }
    // It may have been executed although the answer was lost.
    const auto there = EndsWith(sequence_ + events.size(), chain);
    if (!there.ok()) return Fail(there.status());
    if (*there) break;
    if (absl::IsInvalidArgument(done.status()) ||
        SteadyNow() - begun > options_.patience) {
      return Fail(done.status());
    }
  }
  sequence_ += events.size();
  chain_ = chain;
  event_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status PostgresJournal::BeginAs(uint64_t id) {
  const auto done = Repeat(
      "UPDATE feedmill_states SET journal = $3 WHERE state = $1 AND epoch = $2",
      {name_, NumberText(epoch_), NumberText(id)});
  if (!done.ok()) return Fail(done.status());
  if (done->affected == 0) return failure_ = Fenced();
  id_ = id;
  chain_ = ChainOf(id);
  return absl::OkStatus();
}

absl::Status PostgresJournal::Compact(std::string_view snapshot) {
  FM_RETURN_IF_ERROR(failure_);
  const ChainChecksum checksum = Extend(
      Extend(ChainOf(id_ ^ sequence_), feedmill::BytesOf(chain_)), snapshot);
  const auto done = Repeat(
      "WITH held AS (SELECT 1 FROM feedmill_states WHERE state = $1 AND epoch "
      "= $2 FOR SHARE), gone AS (DELETE FROM feedmill_events USING held WHERE "
      "state = $1 AND sequence <= $3) INSERT INTO feedmill_snapshots SELECT "
      "$1, $3, $4::bytea, $5::bytea, $6::bytea FROM held ON CONFLICT (state) "
      "DO UPDATE SET sequence = excluded.sequence, payload = "
      "excluded.payload, chain = excluded.chain, checksum = "
      "excluded.checksum",
      {name_, NumberText(epoch_), NumberText(sequence_),
       PostgresConnection::TextOf(snapshot),
       PostgresConnection::TextOf(feedmill::BytesOf(chain_)),
       PostgresConnection::TextOf(feedmill::BytesOf(checksum))});
  if (!done.ok()) return Fail(done.status());
  if (done->affected == 0) return failure_ = Fenced();
  snapshot_bytes_ = snapshot.size();
  event_bytes_ = 0;
  return absl::OkStatus();
}

}  // namespace feedmill
