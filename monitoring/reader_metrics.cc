#include <algorithm>

#include "monitoring/metrics.h"

namespace feedmill {
namespace {

double AsDouble(uint64_t value) { return static_cast<double>(value); }

void AddReader(const ReaderTotals& reader, MetricList& metrics) {
  const MetricList::Labels of{
      {"job_name", reader.job.empty() ? "anonymous" : reader.job},
      {"rank", std::to_string(reader.rank)}};
  const ReaderLoad& load = reader.load;
  metrics.Gauge("feedmill_reader_open", "Readers of this process",
                AsDouble(reader.open), of);
  metrics.Counter("feedmill_reader_elements_total",
                  "Elements that came from workers, or that a local read made",
                  AsDouble(load.elements), of);
  metrics.Counter("feedmill_reader_bytes_total", "Bytes of these elements",
                  AsDouble(load.bytes), of);
  metrics.Counter("feedmill_reader_skipped_elements_total",
                  "Elements that on_error left out", AsDouble(load.skipped),
                  of);
  metrics.Counter("feedmill_reader_seconds_total",
                  "Time since the first request for an element",
                  absl::ToDoubleSeconds(load.elapsed), of);
  metrics.Counter("feedmill_reader_wait_seconds_total",
                  "Of it, time in which the trainer waited for an element",
                  absl::ToDoubleSeconds(load.waited), of);
  metrics.Counter("feedmill_reader_step_seconds_total",
                  "Of it, time in steps that run in the reader",
                  absl::ToDoubleSeconds(load.stage), of);
  metrics.Gauge("feedmill_reader_buffered_bytes",
                "Elements that came and wait for the trainer",
                AsDouble(load.buffered_bytes), of);
  metrics.Gauge("feedmill_reader_window_bytes",
                "Elements that workers may have under way to the reader",
                AsDouble(load.window_bytes), of);
  metrics.Counter("feedmill_reader_reconnects_total",
                  "Times that the dispatcher was lost and found again",
                  AsDouble(reader.reconnects), of);
}

}  // namespace

void AddReaderMetrics(std::vector<ReaderTotals> readers, MetricList& metrics) {
  // Readers that are open come first: they have series of their own.
  std::stable_sort(readers.begin(), readers.end(),
                   [](const ReaderTotals& a, const ReaderTotals& b) {
                     return a.open > 0 && b.open == 0;
                   });
  const size_t shown = std::min(readers.size(), kReadersShown);
  for (size_t k = 0; k < shown; ++k) AddReader(readers[k], metrics);
  metrics.Gauge("feedmill_readers_not_shown",
                "Jobs and ranks of this process without series of their own",
                AsDouble(readers.size() - shown));
}

}  // namespace feedmill
