#ifndef FEEDMILL_MONITORING_METRIC_LIST_H_
#define FEEDMILL_MONITORING_METRIC_LIST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

// Values of metrics, and Prometheus's text of them. Thread-compatible.
class MetricList {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  MetricList();
  ~MetricList();
  MetricList(const MetricList&) = delete;
  MetricList& operator=(const MetricList&) = delete;

  // Values of one name are one family, of the first call's kind and help.
  void Counter(std::string_view name, std::string_view help, double value,
               const Labels& labels = {});
  void Gauge(std::string_view name, std::string_view help, double value,
             const Labels& labels = {});
  // In the order of first calls.
  std::string Text() const;

 private:
  struct Families;
  const std::unique_ptr<Families> families_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_METRIC_LIST_H_
