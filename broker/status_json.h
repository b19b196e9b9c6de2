#ifndef FEEDMILL_BROKER_STATUS_JSON_H_
#define FEEDMILL_BROKER_STATUS_JSON_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "broker/dispatcher_snapshot.h"
#include "broker/event_ring.h"
#include "broker/lease_table.h"
#include "broker/load_window.h"

// Makes the parts of the status that describe loads. Pure.

namespace feedmill {

// Returns the JSON text. Text of users may not be UTF-8, which dump() refuses
// by default.
std::string DumpStatus(const nlohmann::ordered_json& json);
// Returns the seconds rounded to three digits after the point.
nlohmann::ordered_json RoundedSeconds(absl::Duration duration);

// Adds a reader's rates and shares in the window, and its buffered data.
void AddReaderLoad(absl::Time now, const ReaderWindow& window,
                   nlohmann::ordered_json& session);
// Adds the same values for all readers of a job, from their entries
// (`sessions`), and `totals`.
void AddJobLoad(const nlohmann::ordered_json& sessions, const JobTotals* totals,
                nlohmann::ordered_json& job);
// Returns the workers' time by step, from measured tasks of the last seconds.
// `names`: names of the places; place 1 is the source.
nlohmann::ordered_json StepsJson(const std::map<uint32_t, StepCost>& steps,
                                 const std::map<uint32_t, std::string>& names);
// `speed`: relative to the typical worker of its jobs; negative: unknown.
nlohmann::ordered_json WorkerJson(absl::Time now, const WorkerId& id,
                                  const KnownWorker& worker, double speed);
nlohmann::ordered_json ShellJson(const ShellLoad& load);
nlohmann::ordered_json StandbysJson(const ShellLoad& load);
nlohmann::ordered_json EventsOf(absl::Time now,
                                const std::vector<OperatorEvent>& events);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_STATUS_JSON_H_
