#include "broker/event_ring.h"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

// Maximum number of events of the same kind that are compared with a new event.
constexpr size_t kEventsCompared = 16;

bool CountsTogether(NoteKind kind) {
  return kind == NoteKind::kReader || kind == NoteKind::kAttempt ||
         kind == NoteKind::kRetry || kind == NoteKind::kSkipped;
}

// Cuts the text to kTextMax bytes at the beginning of a character.
void CutText(std::string& text) {
  if (text.size() <= EventRing::kTextMax) return;
  size_t end = EventRing::kTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  text.resize(end);
  text += "…";
}

// Adds the records of a later event.
void AddRecords(std::vector<std::string> added, OperatorEvent& event) {
  std::vector<std::string>& kept = event.records;
  for (std::string& record : added) {
    CutText(record);
    kept.push_back(std::move(record));
  }
  if (kept.size() <= EventRing::kRecordsKept) return;
  kept.erase(kept.begin(),
             kept.end() - static_cast<ptrdiff_t>(EventRing::kRecordsKept));
}

}  // namespace

const char* NoteName(NoteKind kind) {
  switch (kind) {
    case NoteKind::kWorkerJoined:
      return "worker joined";
    case NoteKind::kWorkerLost:
      return "worker lost";
    case NoteKind::kWorkerDrains:
      return "worker drains";
    case NoteKind::kJob:
      return "job";
    case NoteKind::kReader:
      return "reader";
    case NoteKind::kAttempt:
      return "failed attempt";
    case NoteKind::kRetry:
      return "retry";
    case NoteKind::kSkipped:
      return "skipped";
    case NoteKind::kOperator:
      return "operator";
    case NoteKind::kScale:
      return "scale";
    case NoteKind::kAside:
      return "worker set aside";
    case NoteKind::kCache:
      return "cache";
    case NoteKind::kJournal:
      return "journal";
  }
  return "";
}

void EventRing::Add(absl::Time now, OperatorEvent event) {
  CutText(event.text);
  CutText(event.job);
  CutText(event.worker);
  std::deque<OperatorEvent>& ring = event.warning ? warnings_ : others_;
  if (CountsTogether(event.kind)) {
    const size_t compared = std::min(ring.size(), kEventsCompared);
    for (auto known = ring.rbegin();
         known != ring.rbegin() + static_cast<ptrdiff_t>(compared); ++known) {
      if (known->kind != event.kind || known->job != event.job ||
          known->worker != event.worker ||
          now - known->last > kEventsTogether) {
        continue;
      }
      known->last = now;
      ++known->count;
      known->text = std::move(event.text);
      AddRecords(std::move(event.records), *known);
      return;
    }
  }
  AddRecords(std::exchange(event.records, {}), event);
  event.id = ++last_id_;
  event.first = event.last = now;
  ring.push_back(std::move(event));
  if (ring.size() > kEventsKept) ring.pop_front();
}

std::vector<OperatorEvent> EventRing::Last(size_t max) const {
  std::vector<OperatorEvent> all(warnings_.begin(), warnings_.end());
  all.insert(all.end(), others_.begin(), others_.end());
  std::sort(all.begin(), all.end(),
            [](const OperatorEvent& a, const OperatorEvent& b) {
              return a.id < b.id;
            });
  if (all.size() > max) {
    all.erase(all.begin(), all.end() - static_cast<ptrdiff_t>(max));
  }
  return all;
}

}  // namespace feedmill
