#include "core/storage/object_journal.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/io/side_by_side.h"

namespace feedmill {
namespace {

constexpr uint64_t kCompactSegments = 500;
constexpr uint64_t kObjectBytesMax = uint64_t{4} << 30;
constexpr size_t kDeletesATick = 50;
constexpr size_t kReadsAtOnce = 16;
constexpr double kBurst = 16;
// A process that waits looks at the heartbeat: 5 million reads a month.
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(500);
// Part of `expire` for which a writer trusts a heartbeat: clocks differ in
// their speed.
constexpr double kCertainPart = 0.9;
// Later heads than this are kept. An earlier writer stood still for all of
// them.
constexpr size_t kHeadsMax = 10'000;

constexpr std::string_view kSegment = "segment";
constexpr std::string_view kSnapshot = "snapshot";
constexpr std::string_view kBeat = "beat";
constexpr std::string_view kStandby = "standby";

// A standby shows itself that often, and earlier when it has read more. The
// writer looks as often, and forgets a standby after three times as long.
constexpr absl::Duration kBetweenSigns = absl::Seconds(20);
constexpr absl::Duration kBetweenBusySigns = absl::Seconds(5);

// The checksum at the end of an object, of all bytes before it.
std::string_view WithoutChecksum(std::string_view bytes, uint64_t kind) {
  if (bytes.size() < sizeof(ChainChecksum)) return {};
  const std::string_view rest =
      bytes.substr(0, bytes.size() - sizeof(ChainChecksum));
  const ChainChecksum checksum = Extend(ChainOf(kind), rest);
  return bytes.substr(rest.size()) == BytesOf(checksum) ? rest
                                                        : std::string_view();
}
std::string WithChecksum(std::string bytes, uint64_t kind) {
  const ChainChecksum checksum = Extend(ChainOf(kind), bytes);
  return bytes.append(BytesOf(checksum));
}

// Reads numbers and texts of an object. A read past the end gives zeros, and
// good() is false.
class ObjectReader {
 public:
  explicit ObjectReader(std::string_view bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool ended() const { return good_ && rest_.empty(); }
  uint64_t Number() {
    const std::string_view bytes = Bytes(sizeof(uint64_t));
    return bytes.empty() ? 0 : LoadLittleEndian<uint64_t>(bytes, 0);
  }
  std::string_view Text() { return Bytes(Number()); }
  ChainChecksum Chain() {
    const uint64_t first = Number();
    return {first, Number()};
  }

 private:
  std::string_view Bytes(uint64_t size) {
    good_ = good_ && size <= rest_.size();
    if (!good_) return {};
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view rest_;
  bool good_ = true;
};

void PutText(std::string& out, std::string_view text) {
  PutU64(out, text.size());
  out += text;
}

// The kind and the number of an object's name: "segment-00000000000000000007".
std::optional<std::pair<std::string_view, uint64_t>> PartsOf(
    std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == name.npos) return std::nullopt;
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dash + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return std::pair(name.substr(0, dash), number);
}

struct Listed {
  std::set<uint64_t> segments;
  std::set<uint64_t> snapshots;
  std::set<uint64_t> standbys;
};

absl::StatusOr<Listed> ListJournal(const FileSystem& files,
                                   const std::string& folder) {
  Listed listed;
  const auto entries = files.List(folder);
  if (absl::IsNotFound(entries.status())) return listed;
  FM_RETURN_IF_ERROR(entries.status());
  for (const FileSystem::Entry& entry : *entries) {
    const auto parts = PartsOf(entry.name);
    if (!parts) continue;
    if (parts->first == kSegment) listed.segments.insert(parts->second);
    if (parts->first == kSnapshot) listed.snapshots.insert(parts->second);
    if (parts->first == kStandby) listed.standbys.insert(parts->second);
  }
  return listed;
}

}  // namespace

// The heartbeat of a term.
struct ObjectJournal::Beat {
  bool there = false;
  std::string bytes;  // of the object
  bool leads = false;
  uint64_t sequence = 0;  // the last event that it knew
  std::string writer;     // for people
};

ObjectJournal::ObjectJournal(const FileSystem& files, std::string folder,
                             Options options)
    : files_(files),
      folder_(std::move(folder)),
      options_(std::move(options)),
      writer_(DrawJournal()),
      address_(ThisProcess()) {}

std::string ObjectJournal::NameOf(std::string_view kind,
                                  uint64_t number) const {
  return files_.NameIn(folder_, fmt::format("{}-{:020}", kind, number));
}

absl::StatusOr<std::string> ObjectJournal::Read(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const auto file, files_.Open(name));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > kObjectBytesMax) {
    return DataLoss("{} has {} bytes", name, identity.size);
  }
  std::string bytes(identity.size, '\0');
  FM_ASSIGN_OR_RETURN(const size_t size,
                      file->Read(0, std::as_writable_bytes(std::span(bytes))));
  if (size != bytes.size()) return DataLoss("{} is cut off", name);
  return bytes;
}

// ---- opening

absl::StatusOr<std::unique_ptr<ObjectJournal>> ObjectJournal::Open(
    const FileSystem& files, const std::string& folder, Options options) {
  std::unique_ptr<ObjectJournal> journal(
      new ObjectJournal(files, folder, std::move(options)));
  const std::string shown = HideUrlSecrets(folder);
  absl::Status status = journal->CheckConditions();
  if (status.ok()) status = journal->Lead();
  if (absl::IsDataLoss(status)) {
    return DataLoss(
        "the journal in '{}' cannot be used: {}. Restore its objects as they "
        "were last, or delete all of them: then jobs are forgotten and readers "
        "start again",
        shown, ErrorText(status));
  }
  FM_RETURN_IF_ERROR(
      Annotate(status, fmt::format("the journal in '{}'", shown)));
  return journal;
}

// A store that ignores the condition would let two writers continue. The second
// object is longer: Arrow's client of az:// compares sizes instead.
absl::Status ObjectJournal::CheckConditions() {
  const std::string name = NameOf("probe", writer_);
  FM_ASSIGN_OR_RETURN(const bool first, files_.WriteNew(name, "1"));
  FM_ASSIGN_OR_RETURN(const bool again, files_.WriteNew(name, "22"));
  files_.Remove(name).IgnoreError();
  if (first && !again) return absl::OkStatus();
  return FailedPrecondition(
      "this store does not refuse a put of an object that exists "
      "(If-None-Match: *), or feedmill cannot ask for it with this login "
      "(az:// and gs:// logins that only Arrow's client knows), so that two "
      "dispatchers could write; keep the state in a folder, or use a store and "
      "a login with conditional puts");
}

absl::Status ObjectJournal::Lead() {
  constexpr int kTries = 100;
  for (int k = 0; k < kTries; ++k) {
    FM_ASSIGN_OR_RETURN(const bool whole, Load());
    if (!whole) continue;
    FM_ASSIGN_OR_RETURN(const Beat last, AwaitFree());
    const uint64_t term = term_;
    // It may have grown meanwhile.
    FM_ASSIGN_OR_RETURN(const bool again, Load());
    if (!again || term_ != term) continue;
    if (last.sequence > sequence_) {
      return DataLoss("it ends at event {}, and events {} to {} are missing",
                      sequence_, sequence_ + 1, last.sequence);
    }
    // A heartbeat may have come while the journal was read.
    FM_ASSIGN_OR_RETURN(const Beat now, ReadBeat(term));
    if (now.bytes != last.bytes) continue;
    const absl::Time begun = options_.now();
    FM_ASSIGN_OR_RETURN(const bool leads, TakeLead());
    if (!leads) continue;
    certain_until_ = begun + kCertainPart * options_.expire;
    HideStandby();
    return BeatAndBeCertain();
  }
  return Unavailable("other processes change it all the time");
}

void ObjectJournal::Forget() {
  content_ = {};
  content_.whole = true;
  sequence_ = term_ = id_ = 0;
  chain_ = {};
  heads_.clear();
  snapshot_bytes_ = snapshot_number_ = event_bytes_ = 0;
  number_ = 1;
}

// Heads stay, and each names its journal.
absl::StatusOr<bool> ObjectJournal::IsSame() const {
  if (heads_.empty()) return false;
  const auto bytes = Read(NameOf(kSegment, heads_.back()));
  if (absl::IsNotFound(bytes.status())) return false;
  FM_RETURN_IF_ERROR(bytes.status());
  ObjectReader reader(WithoutChecksum(*bytes, heads_.back()));
  reader.Number();  // the format
  return reader.Number() == id_ && reader.good();
}

absl::StatusOr<bool> ObjectJournal::Load() {
  FM_ASSIGN_OR_RETURN(const Listed listed, ListJournal(files_, folder_));
  const uint64_t newest =
      listed.snapshots.empty() ? 0 : *listed.snapshots.rbegin();
  bool more = std::exchange(loaded_, false) && newest == snapshot_number_;
  if (more) {
    FM_ASSIGN_OR_RETURN(more, IsSame());
  }
  if (!more) {
    Forget();
    if (newest > 0) {
      FM_ASSIGN_OR_RETURN(const bool there, LoadSnapshot(newest));
      if (!there) return false;
    }
  }
  const uint64_t last = listed.segments.empty() ? 0 : *listed.segments.rbegin();
  std::vector<uint64_t> listed_after(listed.segments.lower_bound(number_),
                                     listed.segments.end());
  std::map<uint64_t, absl::StatusOr<std::string>> ahead;
  for (const uint64_t number : listed_after) ahead[number] = std::string();
  FM_RETURN_IF_ERROR(
      ForEachSideBySide(listed_after.size(), kReadsAtOnce, [&](size_t k) {
        ahead.at(listed_after[k]) = Read(NameOf(kSegment, listed_after[k]));
        return absl::OkStatus();
      }));
  while (true) {
    const auto found = ahead.find(number_);
    const auto bytes = found != ahead.end() ? std::move(found->second)
                                            : Read(NameOf(kSegment, number_));
    if (absl::IsNotFound(bytes.status())) break;
    FM_RETURN_IF_ERROR(bytes.status());
    FM_RETURN_IF_ERROR(TakeSegment(*bytes, number_));
    ++number_;
  }
  if (number_ <= last) {
    FM_ASSIGN_OR_RETURN(const Listed now, ListJournal(files_, folder_));
    if (now.snapshots != listed.snapshots) return false;  // compacted meanwhile
    return DataLoss("{} is missing", NameOf(kSegment, number_));
  }
  deletes_.clear();
  for (const uint64_t number : listed.segments) {
    const bool head = std::ranges::binary_search(heads_, number);
    if (number <= snapshot_number_ && !head) {
      deletes_.push_back(NameOf(kSegment, number));
    }
  }
  for (const uint64_t number : listed.snapshots) {
    if (number < snapshot_number_) {
      deletes_.push_back(NameOf(kSnapshot, number));
    }
  }
  loaded_ = true;
  return true;
}

absl::StatusOr<bool> ObjectJournal::LoadSnapshot(uint64_t number) {
  const std::string name = NameOf(kSnapshot, number);
  const auto bytes = Read(name);
  if (absl::IsNotFound(bytes.status())) return false;  // a later one is there
  FM_RETURN_IF_ERROR(bytes.status());
  ObjectReader reader(WithoutChecksum(*bytes, number));
  const uint64_t format = reader.Number();
  id_ = reader.Number();
  term_ = reader.Number();
  sequence_ = reader.Number();
  chain_ = reader.Chain();
  for (uint64_t k = reader.Number(); k > 0 && reader.good(); --k) {
    heads_.push_back(reader.Number());
  }
  const std::string_view payload = reader.Text();
  if (!reader.ended()) return DataLoss("{} is damaged", name);
  if (format != kJournalFormat) {
    return FailedPrecondition(
        "it has format {}, this release knows {}; use the release that wrote "
        "it",
        format, kJournalFormat);
  }
  content_.snapshot_sequence = sequence_;
  content_.snapshot = std::string(payload);
  snapshot_bytes_ = payload.size();
  snapshot_number_ = number;
  number_ = number + 1;
  return true;
}

absl::Status ObjectJournal::TakeSegment(std::string_view bytes,
                                        uint64_t number) {
  const auto damaged = [&](std::string_view how) {
    return DataLoss("{} {}", NameOf(kSegment, number), how);
  };
  ObjectReader reader(WithoutChecksum(bytes, number));
  const uint64_t format = reader.Number();
  const uint64_t journal = reader.Number();
  const uint64_t term = reader.Number();
  reader.Number();  // the writer
  const uint64_t before = reader.Number();
  const ChainChecksum chain = reader.Chain();
  std::vector<std::string> events;
  for (uint64_t k = reader.Number(); k > 0 && reader.good(); --k) {
    events.emplace_back(reader.Text());
  }
  if (!reader.ended()) return damaged("is damaged");
  if (format != kJournalFormat) {
    return FailedPrecondition(
        "it has format {}, this release knows {}; use the release that wrote "
        "it",
        format, kJournalFormat);
  }
  if (number == 1) {
    id_ = journal;
    chain_ = ChainOf(id_);
  }
  if (journal != id_) return damaged("is of another journal");
  if (before != sequence_ || chain != chain_ || term < term_) {
    return damaged("does not follow the one before it");
  }
  if (term > term_) {
    term_ = term;
    heads_.push_back(number);
  }
  for (std::string& event : events) {
    chain_ = Extend(chain_, event);
    ++sequence_;
    event_bytes_ += event.size();
    content_.events.push_back(std::move(event));
  }
  return absl::OkStatus();
}

absl::StatusOr<ObjectJournal::Beat> ObjectJournal::ReadBeat(
    uint64_t term) const {
  Beat beat;
  const std::string name = NameOf(kBeat, term);
  auto bytes = Read(name);
  for (int k = 0; k < 10 && absl::IsFailedPrecondition(bytes.status()); ++k) {
    bytes = Read(name);  // it was replaced meanwhile
  }
  if (absl::IsNotFound(bytes.status())) return beat;
  FM_RETURN_IF_ERROR(bytes.status());
  ObjectReader reader(WithoutChecksum(*bytes, term));
  reader.Number();  // which heartbeat
  beat.leads = reader.Number() != 0;
  beat.sequence = reader.Number();
  beat.writer = std::string(reader.Text());
  if (!reader.ended()) return DataLoss("{} is damaged", name);
  beat.there = true;
  beat.bytes = *std::move(bytes);
  return beat;
}

// Waits until the writer of the present term is gone, or has reported it.
absl::StatusOr<ObjectJournal::Beat> ObjectJournal::AwaitFree() {
  if (term_ == 0) return Beat();
  std::string seen;
  absl::Time since = options_.now();
  while (true) {
    FM_ASSIGN_OR_RETURN(Beat beat, ReadBeat(term_));
    if (beat.there && !beat.leads) return beat;
    const absl::Time now = options_.now();
    if (beat.bytes != seen) {
      const bool changed = !seen.empty();
      seen = beat.bytes;
      since = now;
      if (changed && !options_.wait) {
        return FailedPrecondition(
            "it is led by {}; stop that one first, name another folder, or "
            "wait for it with --standby",
            beat.writer);
      }
    }
    if (now - since >= options_.expire) return beat;
    if (options_.stop()) return Cancelled("stopped while it waited");
    FM_RETURN_IF_ERROR(Follow(beat.sequence));
    options_.sleep(std::min(kBetweenLooks, options_.expire / 14));
  }
}

absl::Status ObjectJournal::Follow(uint64_t sequence) {
  if (!options_.wait) return absl::OkStatus();
  if (options_.follow && (content_.whole || sequence > sequence_)) {
    // If it changes meanwhile, the next look finds more.
    FM_ASSIGN_OR_RETURN(const bool whole, Load());
    if (!whole) return absl::OkStatus();
    FM_RETURN_IF_ERROR(options_.follow(*this));
    ForgetContent();
  }
  ShowStandby();
  return absl::OkStatus();
}

void ObjectJournal::ShowStandby() {
  const absl::Time now = options_.now();
  if (now - shown_at_ <
      (sequence_ == shown_sequence_ ? kBetweenSigns : kBetweenBusySigns)) {
    return;
  }
  shown_at_ = now;
  shown_sequence_ = sequence_;
  std::string bytes;
  PutU64(bytes, ++beats_);
  PutU64(bytes, sequence_);
  PutText(bytes, address_);
  files_
      .Write(NameOf(kStandby, writer_), WithChecksum(std::move(bytes), writer_))
      .IgnoreError();
}

void ObjectJournal::HideStandby() {
  if (shown_at_ == absl::InfinitePast()) return;
  shown_at_ = absl::InfinitePast();
  files_.Remove(NameOf(kStandby, writer_)).IgnoreError();
}

absl::StatusOr<bool> ObjectJournal::TakeLead() {
  loaded_ = false;
  if (id_ == 0) {
    id_ = DrawJournal();
    chain_ = ChainOf(id_);
  }
  ++term_;
  const uint64_t head = number_;
  FM_ASSIGN_OR_RETURN(const bool mine, PutSegment({}));
  if (!mine) return false;
  // The number may have been used and deleted since it was found free.
  FM_ASSIGN_OR_RETURN(const Listed listed, ListJournal(files_, folder_));
  const bool moved =
      (!listed.segments.empty() && *listed.segments.rbegin() > head) ||
      (!listed.snapshots.empty() && *listed.snapshots.rbegin() >= head);
  if (moved) return false;
  heads_.push_back(head);
  if (heads_.size() > kHeadsMax) {
    heads_.erase(heads_.begin(),
                 heads_.end() - static_cast<std::ptrdiff_t>(kHeadsMax));
  }
  leads_ = true;
  return true;
}

// ---- writing

absl::StatusOr<bool> ObjectJournal::PutSegment(
    std::span<const std::string> events) {
  std::string bytes;
  for (const uint64_t number :
       {kJournalFormat, id_, term_, writer_, sequence_, chain_[0], chain_[1],
        uint64_t{events.size()}}) {
    PutU64(bytes, number);
  }
  for (const std::string& event : events) PutText(bytes, event);
  bytes = WithChecksum(std::move(bytes), number_);
  const std::string name = NameOf(kSegment, number_);
  FM_ASSIGN_OR_RETURN(const bool made, files_.WriteNew(name, bytes));
  if (!made) {
    // It is this one's if the answer to an earlier try was lost.
    FM_ASSIGN_OR_RETURN(const std::string there, Read(name));
    if (there != bytes) return false;
  }
  ++number_;
  return true;
}

absl::Status ObjectJournal::Fenced() const {
  const absl::StatusOr<Beat> beat = ReadBeat(term_ + 1);
  return FailedPrecondition(
      "another dispatcher{} leads the state in '{}' now; this one ends",
      beat.ok() && beat->there ? fmt::format(", {},", beat->writer) : "",
      HideUrlSecrets(folder_));
}

void ObjectJournal::Pace() {
  const double rate = std::max(
      0.1, options_.puts_a_second - 1 / absl::ToDoubleSeconds(options_.beat));
  const auto refill = [&] {
    const absl::Time now = options_.now();
    if (put_at_ != absl::InfinitePast()) {
      puts_left_ = std::min(
          kBurst, puts_left_ + rate * absl::ToDoubleSeconds(now - put_at_));
    }
    put_at_ = now;
  };
  refill();
  if (puts_left_ < 1) {
    options_.sleep(absl::Seconds((1 - puts_left_) / rate));
    refill();
  }
  puts_left_ -= 1;
}

// After an error it is unknown whether the segment is there, and another one
// with its number would look like another writer's.
absl::Status ObjectJournal::MustPutSegment(
    std::span<const std::string> events) {
  const absl::StatusOr<bool> mine = PutSegment(events);
  if (mine.ok() && *mine) return absl::OkStatus();
  return failure_ = mine.ok()
                        ? Fenced()
                        : Annotate(mine.status(),
                                   fmt::format("cannot write the journal in "
                                               "'{}'",
                                               HideUrlSecrets(folder_)));
}

absl::Status ObjectJournal::Append(std::span<const std::string> events) {
  if (events.empty() || !failure_.ok()) return failure_;
  Pace();
  FM_RETURN_IF_ERROR(MustPutSegment(events));
  for (const std::string& event : events) {
    chain_ = Extend(chain_, event);
    event_bytes_ += event.size();
  }
  sequence_ += events.size();
  return absl::OkStatus();
}

// The snapshot that follows has the id.
absl::Status ObjectJournal::BeginAs(uint64_t id) {
  id_ = id;
  chain_ = ChainOf(id);
  return absl::OkStatus();
}

bool ObjectJournal::worth_compacting() const {
  return number_ - snapshot_number_ > kCompactSegments ||
         Journal::worth_compacting();
}

absl::Status ObjectJournal::Compact(std::string_view snapshot) {
  FM_RETURN_IF_ERROR(failure_);
  const uint64_t last = number_ - 1;
  std::string bytes;
  for (const uint64_t number :
       {kJournalFormat, id_, term_, sequence_, chain_[0], chain_[1],
        uint64_t{heads_.size()}}) {
    PutU64(bytes, number);
  }
  for (const uint64_t head : heads_) PutU64(bytes, head);
  PutText(bytes, snapshot);
  const std::string name = NameOf(kSnapshot, last);
  const auto made = files_.WriteNew(name, WithChecksum(std::move(bytes), last));
  if (!made.ok()) {
    // The segments stay, and so does the journal.
    return Annotate(made.status(),
                    fmt::format("cannot compact the journal in '{}'",
                                HideUrlSecrets(folder_)));
  }
  for (uint64_t number = snapshot_number_ + 1; number <= last; ++number) {
    if (!std::ranges::binary_search(heads_, number)) {
      deletes_.push_back(NameOf(kSegment, number));
    }
  }
  if (snapshot_number_ > 0) {
    deletes_.push_back(NameOf(kSnapshot, snapshot_number_));
  }
  snapshot_number_ = last;
  snapshot_bytes_ = snapshot.size();
  event_bytes_ = 0;
  return absl::OkStatus();
}

// Deletes a few of the objects that nothing needs. One that stays is deleted
// after the next opening.
void ObjectJournal::DeleteSome() {
  for (size_t k = 0; k < kDeletesATick && !deletes_.empty(); ++k) {
    files_.Remove(deletes_.front()).IgnoreError();
    deletes_.pop_front();
  }
}

void ObjectJournal::LookForStandbys() {
  const absl::Time now = options_.now();
  if (now - looked_at_ < kBetweenSigns) return;
  looked_at_ = now;
  const auto listed = ListJournal(files_, folder_);
  if (!listed.ok()) return;
  std::erase_if(signs_, [&](const auto& sign) {
    return !listed->standbys.contains(sign.first);
  });
  auto standbys = std::make_shared<std::vector<Standby>>();
  for (const uint64_t number : listed->standbys) {
    const std::string name = NameOf(kStandby, number);
    auto bytes = Read(name);
    if (!bytes.ok()) continue;
    Sign& sign = signs_[number];
    if (sign.bytes != *bytes) sign = {*std::move(bytes), now};
    ObjectReader reader(WithoutChecksum(sign.bytes, number));
    reader.Number();  // which sign
    const uint64_t sequence = reader.Number();
    const std::string_view process = reader.Text();
    if (now - sign.since > 3 * kBetweenSigns) {
      deletes_.push_back(name);
    } else if (reader.ended()) {
      standbys->push_back({std::string(process), now - sign.since, sequence});
    }
  }
  standbys_ = std::move(standbys);
}

absl::Status ObjectJournal::WriteBeat(bool leads) {
  std::string bytes;
  PutU64(bytes, ++beats_);
  PutU64(bytes, leads ? 1 : 0);
  PutU64(bytes, sequence_);
  PutText(bytes, address_);
  beaten_at_ = options_.now();
  return files_.Write(NameOf(kBeat, term_),
                      WithChecksum(std::move(bytes), term_));
}

// After a late heartbeat, another process may have decided to begin before. A
// segment that is put then takes the number of its head.
absl::Status ObjectJournal::BeatAndBeCertain() {
  const absl::Time begun = options_.now();
  FM_RETURN_IF_ERROR(WriteBeat(/*leads=*/true));
  if (options_.now() >= certain_until_) {
    FM_RETURN_IF_ERROR(MustPutSegment({}));
  }
  certain_until_ = begun + kCertainPart * options_.expire;
  return absl::OkStatus();
}

absl::Status ObjectJournal::SayAddress(const std::string& address) {
  address_ = fmt::format("{} at {}", ThisProcess(), address);
  return BeatAndBeCertain();
}

absl::Status ObjectJournal::Tick() {
  FM_RETURN_IF_ERROR(failure_);
  DeleteSome();
  if (options_.now() - beaten_at_ < options_.beat &&
      certain_for() > absl::ZeroDuration()) {
    return absl::OkStatus();
  }
  // A writer that stood still finds the next term here, and else at its next
  // event.
  const absl::StatusOr<Beat> next = ReadBeat(term_ + 1);
  if (next.ok() && next->there) return failure_ = Fenced();
  BeatAndBeCertain().IgnoreError();  // the next one may arrive
  LookForStandbys();                 // a slow listing does not delay it
  return failure_;
}

ObjectJournal::~ObjectJournal() {
  HideStandby();
  if (leads_ && failure_.ok()) WriteBeat(/*leads=*/false).IgnoreError();
}

}  // namespace feedmill
