#ifndef FEEDMILL_MONITORING_METRIC_LIST_H_
#define FEEDMILL_MONITORING_METRIC_LIST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

// Collects metric values and writes them in Prometheus's text format.
// Thread-compatible.
class MetricList {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  MetricList();
  ~MetricList();
  MetricList(const MetricList&) = delete;
  MetricList& operator=(const MetricList&) = delete;

  // Values with the same name form one family. The first call gives its kind
  // and help text.
  void Counter(std::string_view name, std::string_view help, double value,
               const Labels& labels = {});
  void Gauge(std::string_view name, std::string_view help, double value,
             const Labels& labels = {});
  // Returns the families in the order of their first calls.
  std::string Text() const;

 private:
  struct Families;
  const std::unique_ptr<Families> families_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_METRIC_LIST_H_
