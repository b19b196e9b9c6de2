#ifndef FEEDMILL_TOOLS_COMMAND_TOP_VIEW_H_
#define FEEDMILL_TOOLS_COMMAND_TOP_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

enum class TopStyle : uint8_t {
  kPlain,
  kStrong,
  kQuiet,
  kGood,
  kWarning,
  kChosen,
};
struct TopSpan {
  std::string text;  // printable ASCII
  TopStyle style = TopStyle::kPlain;
};
using TopLine = std::vector<TopSpan>;

// The lines of `feedmill top`, from statuses of a service. Pure.
class TopView {
 public:
  enum class Key : uint8_t { kUp, kDown, kPageUp, kPageDown };

  explicit TopView(std::string service) : service_(std::move(service)) {}

  // A status as FetchStatus gives it, or why there is none.
  void Add(absl::Time now, const absl::Status& fetched,
           const std::string& status);
  // Up and down choose a job, the page keys move the list of workers.
  void Press(Key key);
  // At most `height` lines of at most `width` characters.
  std::vector<TopLine> Lines(absl::Time now, size_t width, size_t height) const;

 private:
  using Json = nlohmann::ordered_json;
  struct Pace {  // positions that were taken, by time
    uint64_t run = 0;
    std::deque<std::pair<absl::Time, double>> taken{};
  };

  void NotePace(absl::Time now);
  const Json* ChosenJob() const;
  std::string TimeLeft(const Json& job) const;
  TopLine Title(absl::Time now) const;
  void AddVerdict(size_t width, std::vector<TopLine>& lines) const;
  void AddJobs(size_t rows, std::vector<TopLine>& lines) const;
  void AddWaits(size_t rows, std::vector<TopLine>& lines) const;
  void AddSteps(size_t rows, std::vector<TopLine>& lines) const;
  void AddWorkers(size_t rows, std::vector<TopLine>& lines) const;
  void AddEvents(size_t rows, std::vector<TopLine>& lines) const;

  const std::string service_;
  Json status_;  // the last one; null before the first
  absl::Time status_at_ = absl::InfinitePast();
  std::string trouble_;             // "": the last request was answered
  std::vector<std::string> names_;  // of the jobs, as they are shown
  std::string chosen_;              // a job; "": the first one
  size_t workers_from_ = 0;
  std::map<std::string, Pace> paces_;  // by job
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TOP_VIEW_H_
