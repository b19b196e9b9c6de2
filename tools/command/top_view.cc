#include "tools/command/top_view.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/status.h"

namespace feedmill {
namespace {

using TopJson = nlohmann::ordered_json;

constexpr absl::Duration kPaceWindow = absl::Seconds(30);
constexpr absl::Duration kPaceLeast = absl::Seconds(2);
constexpr size_t kPacesKept = 1'000;
constexpr size_t kBarWidth = 20;
constexpr double kStragglerPercent = 25;

// Text from outside, for a terminal of any character set.
std::string Ascii(std::string_view text) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    const auto c = static_cast<unsigned char>(text[k]);
    if (text.substr(k).starts_with("…")) {
      out += "...";
      k += 2;
    } else if (c < 0x80) {
      out += c < 0x20 || c == 0x7f ? '?' : text[k];
    } else if ((c & 0xc0) != 0x80) {
      out += '?';
    }
  }
  return out;
}

std::string TextOf(const TopJson& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_string()) return "";
  return Ascii(found->get<std::string>());
}

std::optional<double> NumberOf(const TopJson& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

bool FlagOf(const TopJson& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_boolean() && found->get<bool>();
}

const TopJson& ListOf(const TopJson& row, const char* key) {
  static const TopJson* const kNone = new TopJson(TopJson::array());
  if (!row.is_object()) return *kNone;
  const auto found = row.find(key);
  return found == row.end() || !found->is_array() ? *kNone : *found;
}

// 12345 → "12.3K".
std::string CountText(std::optional<double> value) {
  if (!value.has_value()) return "-";
  double left = *value;
  for (const char* unit : {"", "K", "M", "G", "T"}) {
    if (left < 9'999.5 || unit[0] == 'T') {
      return fmt::format("{:.{}f}{}", left, unit[0] == '\0' ? 0 : 1, unit);
    }
    left /= 1'000;
  }
  return "";
}

std::string BytesText(std::optional<double> value) {
  if (!value.has_value()) return "-";
  double left = *value;
  for (const char* unit : {"B", "KiB", "MiB", "GiB"}) {
    if (left < 1'024) return fmt::format("{:.0f} {}", left, unit);
    left /= 1'024;
  }
  return fmt::format("{:.1f} TiB", left);
}

std::string PercentText(std::optional<double> value) {
  return value.has_value() ? fmt::format("{:.0f} %", *value) : "-";
}

std::string SpanText(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3'600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3'600, whole % 3'600 / 60);
}

std::string Bar(std::optional<double> percent) {
  const auto full = static_cast<size_t>(
      std::lround(std::clamp(percent.value_or(0), 0.0, 100.0) / 100 *
                  static_cast<double>(kBarWidth)));
  return std::string(full, '#') + std::string(kBarWidth - full, '.');
}

// Cut or filled to the width.
std::string Cell(std::string text, size_t width) {
  if (text.size() > width) {
    text.resize(width > 0 ? width - 1 : 0);
    if (width > 0) text += '~';
  }
  text.resize(width, ' ');
  return text + " ";
}

std::string Right(const std::string& text, size_t width) {
  return text.size() >= width
             ? text + " "
             : std::string(width - text.size(), ' ') + text + " ";
}

// "tcp://h:1#key" → "h:1".
// The event, with the last of the elements that were left out.
std::string EventText(const TopJson& event) {
  const std::string text = TextOf(event, "text");
  const auto records = event.find("records");
  if (records == event.end() || !records->is_array() || records->empty() ||
      !records->back().is_string()) {
    return text;
  }
  return text + ": " + Ascii(records->back().get<std::string>());
}

std::string AddressText(std::string name) {
  if (name.starts_with("tcp://")) name.erase(0, 6);
  return name.substr(0, name.find('#'));
}

bool Over(const std::string& state) {
  return state != "planning" && state != "running";
}

std::vector<std::string> Wrapped(const std::string& text, size_t width,
                                 size_t rows) {
  std::vector<std::string> lines;
  std::string rest = text;
  while (!rest.empty() && lines.size() < rows) {
    if (rest.size() <= width) {
      lines.push_back(std::exchange(rest, ""));
      break;
    }
    size_t end = rest.rfind(' ', width);
    if (end == rest.npos || end == 0) end = width;
    lines.push_back(rest.substr(0, end));
    rest.erase(0, rest[end] == ' ' ? end + 1 : end);
  }
  return lines;
}

void CutTo(size_t width, TopLine& line) {
  for (TopSpan& span : line) {
    if (span.text.size() > width) span.text.resize(width);
    width -= span.text.size();
  }
}

struct WorkerState {
  std::string text;
  TopStyle style = TopStyle::kPlain;
};

WorkerState StateOfWorker(const TopJson& worker) {
  const double leases = NumberOf(worker, "leases").value_or(0);
  if (worker.contains("connected") && !FlagOf(worker, "connected")) {
    return {"gone", TopStyle::kWarning};
  }
  if (NumberOf(worker, "last_heard_s").value_or(0) > 2) {
    return {"silent", TopStyle::kWarning};
  }
  if (FlagOf(worker, "set_aside")) return {"set aside", TopStyle::kWarning};
  if (FlagOf(worker, "draining")) {
    return {leases > 0 ? "drains" : "drained", TopStyle::kStrong};
  }
  if (NumberOf(worker, "speed_percent").value_or(100) < kStragglerPercent) {
    return {"straggler", TopStyle::kWarning};
  }
  return {leases > 0 ? "works" : "idle"};
}

}  // namespace

void TopView::Add(absl::Time now, const absl::Status& fetched,
                  const std::string& status) {
  trouble_ = fetched.ok() ? "" : Ascii(ErrorText(fetched));
  if (!fetched.ok()) return;
  Json parsed = Json::parse(status, nullptr, false);
  if (!parsed.is_object()) {
    trouble_ = "the dispatcher's status is not a JSON object";
    return;
  }
  status_ = std::move(parsed);
  status_at_ = now;
  std::vector<std::pair<bool, std::string>> order;
  for (const Json& job : ListOf(status_, "jobs")) {
    order.emplace_back(Over(TextOf(job, "state")), TextOf(job, "name"));
  }
  std::sort(order.begin(), order.end());
  names_.clear();
  for (auto& [over, name] : order) names_.push_back(std::move(name));
  NotePace(now);
}

void TopView::NotePace(absl::Time now) {
  std::map<std::string, Pace> kept;
  for (const Json& job : ListOf(status_, "jobs")) {
    const auto taken = NumberOf(job, "positions_taken");
    if (!taken.has_value() || kept.size() >= kPacesKept) continue;
    const std::string name = TextOf(job, "name");
    Pace pace = std::move(paces_[name]);
    const auto run = static_cast<uint64_t>(NumberOf(job, "run").value_or(0));
    if (pace.run != run) pace = {.run = run};
    pace.taken.emplace_back(now, *taken);
    while (now - pace.taken.front().first > kPaceWindow) pace.taken.pop_front();
    kept[name] = std::move(pace);
  }
  paces_ = std::move(kept);
}

const TopView::Json* TopView::ChosenJob() const {
  const Json* first = nullptr;
  for (const Json& job : ListOf(status_, "jobs")) {
    const std::string name = TextOf(job, "name");
    if (!chosen_.empty() && name == chosen_) return &job;
    if (!names_.empty() && name == names_.front()) first = &job;
  }
  return first;
}

void TopView::Press(Key key) {
  constexpr size_t kPage = 10;
  const size_t workers = ListOf(status_, "workers").size();
  if (key == Key::kPageDown) {
    if (workers_from_ + kPage < workers) workers_from_ += kPage;
    return;
  }
  if (key == Key::kPageUp) {
    workers_from_ -= std::min(workers_from_, kPage);
    return;
  }
  if (names_.empty()) return;
  const auto at = std::find(names_.begin(), names_.end(), chosen_);
  auto index = at == names_.end() ? 0 : at - names_.begin();
  index += key == Key::kDown ? 1 : -1;
  index = std::clamp<ptrdiff_t>(index, 0,
                                static_cast<ptrdiff_t>(names_.size()) - 1);
  chosen_ = names_[static_cast<size_t>(index)];
}

std::string TopView::TimeLeft(const Json& job) const {
  if (FlagOf(job, "infinite")) return "no end";
  const auto pace = paces_.find(TextOf(job, "name"));
  const auto positions = NumberOf(job, "positions");
  if (pace == paces_.end() || !positions.has_value() ||
      Over(TextOf(job, "state"))) {
    return "-";
  }
  const auto& [first, before] = pace->second.taken.front();
  const auto& [last, taken] = pace->second.taken.back();
  if (last - first < kPaceLeast || taken <= before) return "-";
  const double all = *positions * NumberOf(job, "ranks").value_or(1);
  return SpanText((all - taken) * absl::ToDoubleSeconds(last - first) /
                  (taken - before));
}

TopLine TopView::Title(absl::Time now) const {
  TopLine line{{"feedmill top", TopStyle::kStrong}, {"  " + service_ + "  "}};
  if (!trouble_.empty()) {
    line.push_back(
        {status_.is_null()
             ? "no answer"
             : "last seen " +
                   SpanText(absl::ToDoubleSeconds(now - status_at_)) + " ago",
         TopStyle::kWarning});
    line.push_back({"  " + trouble_, TopStyle::kWarning});
    return line;
  }
  if (status_.is_null()) return line;
  line.push_back({"live", TopStyle::kGood});
  const Json totals = status_.value("totals", Json::object());
  const Json shell = status_.value("dispatcher", Json::object());
  line.push_back(
      {fmt::format("  {} jobs, {} readers, {} workers, dispatcher busy {}",
                   CountText(NumberOf(totals, "jobs")),
                   CountText(NumberOf(totals, "sessions")),
                   CountText(NumberOf(totals, "workers")),
                   PercentText(NumberOf(shell, "busy_percent")))});
  return line;
}

void TopView::AddVerdict(size_t width, std::vector<TopLine>& lines) const {
  const Json* job = ChosenJob();
  if (job == nullptr) {
    lines.push_back({{"no job yet", TopStyle::kQuiet}});
    return;
  }
  const std::string name = TextOf(*job, "name");
  const Json verdict =
      job->is_object() ? job->value("verdict", Json()) : Json();
  if (!verdict.is_object()) {
    lines.push_back(
        {{name, TopStyle::kStrong},
         {" is " + TextOf(*job, "state") + "  " + TextOf(*job, "error")}});
    return;
  }
  const std::string bound = TextOf(verdict, "bound_by");
  lines.push_back(
      {{name, TopStyle::kStrong},
       {" is bound by "},
       {bound, bound == "none" || bound == "consumer" ? TopStyle::kGood
                                                      : TopStyle::kWarning},
       {"  " + TextOf(verdict, "where"), TopStyle::kStrong}});
  for (std::string& text : Wrapped(TextOf(verdict, "sentence"), width - 2, 3)) {
    lines.push_back({{"  " + std::move(text)}});
  }
}

void TopView::AddJobs(size_t rows, std::vector<TopLine>& lines) const {
  lines.push_back({{Cell("JOB", 24) + Cell("STATE", 9) + Cell("BOUND BY", 12) +
                        Right("WAITS", 6) + Right("RATE", 10) +
                        Right("DONE", 6) + Right("LEFT", 12) + "WAITS FOR",
                    TopStyle::kQuiet}});
  const Json* chosen = ChosenJob();
  const std::string chosen_name =
      chosen == nullptr ? "" : TextOf(*chosen, "name");
  const auto at = std::find(names_.begin(), names_.end(), chosen_name);
  const auto index = static_cast<size_t>(at - names_.begin());
  const size_t from = index < rows ? 0 : index + 1 - rows;
  std::map<std::string, const Json*> by_name;
  for (const Json& job : ListOf(status_, "jobs")) {
    by_name[TextOf(job, "name")] = &job;
  }
  for (size_t k = from; k < std::min(names_.size(), from + rows); ++k) {
    const Json& job = *by_name.at(names_[k]);
    const std::string bound = TextOf(job, "bound_by");
    lines.push_back(
        {{Cell(names_[k], 24) + Cell(TextOf(job, "state"), 9) +
              Cell(bound.empty() ? "-" : bound, 12) +
              Right(PercentText(NumberOf(job, "waits_percent")), 6) +
              Right(CountText(NumberOf(job, "elements_per_s")) + "/s", 10) +
              Right(PercentText(NumberOf(job, "taken_percent")), 6) +
              Right(TimeLeft(job), 12) + TextOf(job, "waits_for"),
          names_[k] == chosen_name ? TopStyle::kChosen : TopStyle::kPlain}});
  }
}

void TopView::AddWaits(size_t rows, std::vector<TopLine>& lines) const {
  const Json* job = ChosenJob();
  if (job == nullptr) return;
  std::vector<const Json*> readers;
  for (const Json& session : ListOf(*job, "sessions")) {
    if (NumberOf(session, "waits_percent")) readers.push_back(&session);
  }
  if (readers.empty()) return;
  std::sort(readers.begin(), readers.end(), [](const Json* a, const Json* b) {
    return NumberOf(*a, "waits_percent") > NumberOf(*b, "waits_percent");
  });
  lines.push_back({});
  lines.push_back({{Cell("READER", 24) + Cell("WAITS FOR DATA", kBarWidth + 8) +
                        Right("STEPS", 6) + Right("RATE", 10),
                    TopStyle::kQuiet}});
  for (size_t k = 0; k < std::min(rows, readers.size()); ++k) {
    const auto waits = NumberOf(*readers[k], "waits_percent");
    lines.push_back(
        {{Cell(TextOf(*readers[k], "consumer"), 24)},
         {Bar(waits), *waits > 30 ? TopStyle::kWarning : TopStyle::kGood},
         {Right(PercentText(waits), 8) +
          Right(PercentText(NumberOf(*readers[k], "steps_percent")), 6) +
          Right(CountText(NumberOf(*readers[k], "elements_per_s")) + "/s",
                10)}});
  }
  if (readers.size() > rows) {
    lines.push_back(
        {{fmt::format("{} more, which wait less", readers.size() - rows),
          TopStyle::kQuiet}});
  }
}

void TopView::AddSteps(size_t rows, std::vector<TopLine>& lines) const {
  const Json* job = ChosenJob();
  if (job == nullptr) return;
  std::vector<const Json*> steps;
  for (const Json& step : ListOf(*job, "steps")) steps.push_back(&step);
  if (steps.empty()) return;
  // The most expensive steps, in the order of the pipeline.
  std::vector<const Json*> largest = steps;
  std::sort(largest.begin(), largest.end(), [](const Json* a, const Json* b) {
    return NumberOf(*a, "share_percent") > NumberOf(*b, "share_percent");
  });
  largest.resize(std::min(rows, largest.size()));
  lines.push_back({});
  lines.push_back(
      {{Cell("STEP", 24) + Cell("OF THE WORKERS' TIME", kBarWidth + 8) +
            Right("CPU", 6) + Right("CPU/ELEMENT", 12),
        TopStyle::kQuiet}});
  for (const Json* step : steps) {
    if (std::find(largest.begin(), largest.end(), step) == largest.end()) {
      continue;
    }
    const auto share = NumberOf(*step, "share_percent");
    const auto cost = NumberOf(*step, "cpu_us_per_element");
    lines.push_back(
        {{Cell(TextOf(*step, "name"), 24) + Bar(share) +
          Right(PercentText(share), 8) +
          Right(PercentText(NumberOf(*step, "cpu_percent")), 6) +
          Right(cost ? fmt::format("{:.1f} us", *cost) : "-", 12)}});
  }
}

void TopView::AddWorkers(size_t rows, std::vector<TopLine>& lines) const {
  const Json& workers = ListOf(status_, "workers");
  lines.push_back({});
  if (workers.empty()) {
    lines.push_back({{"no worker has registered", TopStyle::kWarning}});
    return;
  }
  lines.push_back(
      {{Cell("WORKER", 24) + Cell("LOAD", kBarWidth + 8) + Cell("STATE", 10) +
            Right("MEMORY", 9) + Right("SPEED", 6) + Right("SPLITS", 7),
        TopStyle::kQuiet}});
  const size_t last = workers.size() > rows ? workers.size() - rows : 0;
  const size_t from = std::min(workers_from_, last);
  const size_t to = std::min(workers.size(), from + rows);
  for (size_t k = from; k < to; ++k) {
    const Json& worker = workers[k];
    const auto busy = NumberOf(worker, "busy_percent");
    const WorkerState state = StateOfWorker(worker);
    lines.push_back({{Cell(AddressText(TextOf(worker, "address")), 24) +
                      Bar(busy) + Right(PercentText(busy), 8)},
                     {Cell(state.text, 10), state.style},
                     {Right(BytesText(NumberOf(worker, "memory_bytes")), 9) +
                      Right(PercentText(NumberOf(worker, "speed_percent")), 6) +
                      Right(CountText(NumberOf(worker, "leases")), 7)}});
  }
  if (from > 0 || to < workers.size()) {
    lines.push_back({{fmt::format("{} to {} of {}; PgUp, PgDn", from + 1, to,
                                  workers.size()),
                      TopStyle::kQuiet}});
  }
}

void TopView::AddEvents(size_t rows, std::vector<TopLine>& lines) const {
  const Json& events = ListOf(status_, "events");
  if (events.empty() || rows == 0) return;
  lines.push_back({});
  lines.push_back({{"EVENTS", TopStyle::kQuiet}});
  for (size_t k = 0; k < std::min(rows, events.size()); ++k) {
    const Json& event = events[events.size() - 1 - k];
    const double count = NumberOf(event, "count").value_or(1);
    lines.push_back(
        {{Right(SpanText(NumberOf(event, "age_s").value_or(0)), 12)},
         {Cell(TextOf(event, "kind") +
                   (count > 1 ? fmt::format(" x{:.0f}", count) : ""),
               18),
          FlagOf(event, "warning") ? TopStyle::kWarning : TopStyle::kQuiet},
         {EventText(event)}});
  }
}

std::vector<TopLine> TopView::Lines(absl::Time now, size_t width,
                                    size_t height) const {
  std::vector<TopLine> lines{Title(now), {}};
  if (!status_.is_null() && width > 2) {
    const size_t workers = ListOf(status_, "workers").size();
    AddVerdict(width, lines);
    lines.push_back({});
    AddJobs(height < 30 ? 3 : 8, lines);
    AddWaits(height < 30 ? 2 : 6, lines);
    AddSteps(height < 30 ? 2 : 6, lines);
    // Events get what the workers leave, and 4 lines at least.
    constexpr size_t kEventLines = 6;  // with their title
    const size_t used = lines.size() + 3 + kEventLines;
    const size_t room = height > used ? height - used : 0;
    AddWorkers(std::min(workers, std::max<size_t>(room, 2)), lines);
    const size_t left =
        height > lines.size() + 3 ? height - lines.size() - 3 : 0;
    AddEvents(left, lines);
  }
  if (lines.size() + 1 > height) lines.resize(height > 0 ? height - 1 : 0);
  while (lines.size() + 1 < height) lines.push_back({});
  if (height > 0) {
    lines.push_back(
        {{"q quit   up, down: job   PgUp, PgDn: workers", TopStyle::kQuiet}});
  }
  for (TopLine& line : lines) CutTo(width, line);
  return lines;
}

}  // namespace feedmill
