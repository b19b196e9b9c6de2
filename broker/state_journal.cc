#include "broker/state_journal.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "broker/event_codec.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/io/file_systems.h"
#include "core/storage/folder_journal.h"
#include "core/storage/object_journal.h"
#include "core/storage/postgres_journal.h"

namespace feedmill {
namespace {

// A snapshot with fewer splits is not worth replacing.
constexpr size_t kManySplits = 10'000;

absl::StatusOr<std::unique_ptr<Journal>> OpenJournal(
    const std::string& work_dir, JournalWait wait) {
  const std::string_view scheme = SchemeOf(work_dir);
  if (scheme.empty()) return FolderJournal::Open(work_dir, wait);
  if (scheme == "postgresql" || scheme == "postgres") {
    PostgresJournal::Options options{std::move(wait)};
    return PostgresJournal::Open(work_dir, std::move(options));
  }
  if (scheme != "s3" && scheme != "gs" && scheme != "az") {
    return InvalidArgument(
        "the work-dir '{}' is of {}://, and the state is kept in a folder of "
        "this machine, in PostgreSQL (postgresql://host/database), or in an "
        "s3://, gs:// or az:// store with conditional puts",
        HideUrlSecrets(work_dir), scheme);
  }
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(work_dir));
  ObjectJournal::Options options{std::move(wait)};
  return ObjectJournal::Open(*files, work_dir, std::move(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateJournal>> StateJournal::Open(
    const std::string& work_dir, bool standby, std::function<bool()> stop) {
  Replayed replayed;
  const auto add = [&](const Journal& journal) {
    return Annotate(
        replayed.Add(journal),
        fmt::format("the journal in '{}' was written by a dispatcher that this "
                    "release does not understand; use that release, or delete "
                    "the folder",
                    HideUrlSecrets(work_dir)));
  };
  JournalWait wait{.wait = standby, .stop = std::move(stop)};
  wait.follow = [&](const Journal& journal) {
    const absl::Status added = add(journal);
    // Damage would be called the journal's.
    return added.ok() ? added : absl::FailedPreconditionError(added.message());
  };
  FM_ASSIGN_OR_RETURN(std::unique_ptr<Journal> journal,
                      OpenJournal(work_dir, std::move(wait)));
  FM_RETURN_IF_ERROR(add(*journal));
  journal->ForgetContent();
  return std::unique_ptr<StateJournal>(
      new StateJournal(std::move(journal), std::move(replayed)));
}

absl::StatusOr<std::unique_ptr<StateJournal>> StateJournal::OpenExisting(
    const std::string& work_dir) {
  std::error_code unknown;
  if (SchemeOf(work_dir).empty() &&
      !std::filesystem::exists(work_dir, unknown)) {
    return NotFound("there is no folder '{}'", work_dir);
  }
  FM_ASSIGN_OR_RETURN(auto journal, Open(work_dir));
  if (journal->sequence() > 0) return journal;
  return NotFound("'{}' has no state of a dispatcher",
                  HideUrlSecrets(work_dir));
}

absl::Status CopyState(const std::string& from, const std::string& to) {
  FM_ASSIGN_OR_RETURN(const auto source, StateJournal::OpenExisting(from));
  const DispatcherState state = source->TakeState();
  {
    FM_ASSIGN_OR_RETURN(const auto copy, StateJournal::Open(to));
    if (copy->sequence() > 0) {
      return FailedPrecondition(
          "'{}' has state already, of {} events; name another place, or delete "
          "it first",
          HideUrlSecrets(to), copy->sequence());
    }
    FM_RETURN_IF_ERROR(copy->journal_->Import(
        state.journal.value(), state.sequence, EncodeState(state)));
  }
  FM_ASSIGN_OR_RETURN(const auto written, StateJournal::Open(to));
  if (written->TakeState() == state) return absl::OkStatus();
  return DataLoss("the copy in '{}' is not what was copied; delete it",
                  HideUrlSecrets(to));
}

absl::Status StateJournal::Replayed::Add(const Journal& journal) {
  const Journal::Content& content = journal.content();
  if (content.whole) {
    *this = Replayed();
    state.journal = JournalId(journal.id());
  }
  if (content.snapshot) {
    FM_ASSIGN_OR_RETURN(state, DecodeState(*content.snapshot));
    snapshot_splits = state.splits.size();
    if (state.sequence != content.snapshot_sequence ||
        state.journal.value() != journal.id()) {
      return DataLoss("the snapshot is of another moment");
    }
  }
  for (const std::string& bytes : content.events) {
    const auto at = [&] { return fmt::format("event {}", state.sequence + 1); };
    const absl::StatusOr<DispatcherEvent> event = DecodeEvent(bytes);
    if (!event.ok()) return Annotate(event.status(), at());
    FM_RETURN_IF_ERROR(Annotate(CheckFollows(state, *event), at()));
    state.Apply(*event);
  }
  return absl::OkStatus();
}

absl::Status StateJournal::Append(std::span<const DispatcherEvent> events) {
  std::vector<std::string> bytes;
  bytes.reserve(events.size());
  for (const DispatcherEvent& event : events) {
    bytes.push_back(EncodeEvent(event));
  }
  return journal_->Append(bytes);
}

bool StateJournal::WorthCompacting(size_t splits) const {
  const bool shrunk = replayed_.snapshot_splits > kManySplits &&
                      splits < replayed_.snapshot_splits / 4;
  return shrunk || journal_->worth_compacting();
}

absl::Status StateJournal::Compact(const DispatcherState& state) {
  const std::string bytes = EncodeState(state);
  // Decode the bytes before the events are deleted: they will be the only copy.
  FM_ASSIGN_OR_RETURN(const DispatcherState back, DecodeState(bytes));
  if (back != state || state.sequence != journal_->sequence()) {
    return DataLoss(
        "a snapshot of the state is not the state; the journal "
        "keeps its events");
  }
  replayed_.snapshot_splits = state.splits.size();
  return journal_->Compact(bytes);
}

}  // namespace feedmill
