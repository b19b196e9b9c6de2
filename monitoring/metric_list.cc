#include "monitoring/metric_list.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>

#include "core/base/utf8.h"

namespace feedmill {
namespace {

constexpr size_t kLabelBytesMax = 200;

// Makes a valid, short UTF-8 label value of a text that a user chose.
std::string LabelValue(const std::string& text) {
  std::string value = text.substr(0, kLabelBytesMax);
  if (IsUtf8(value)) return value;
  for (char& c : value) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return value;
}

}  // namespace

struct MetricList::Families {
  std::vector<prometheus::MetricFamily> list;
  std::map<std::string, size_t, std::less<>> places;

  prometheus::ClientMetric& Add(std::string_view name, std::string_view help,
                                prometheus::MetricType type,
                                const Labels& labels) {
    auto place = places.find(name);
    if (place == places.end()) {
      place = places.emplace(std::string(name), list.size()).first;
      list.push_back({std::string(name), std::string(help), type, {}});
    }
    prometheus::ClientMetric& metric =
        list[place->second].metric.emplace_back();
    for (const auto& [label, value] : labels) {
      metric.label.push_back({label, LabelValue(value)});
    }
    return metric;
  }
};

MetricList::MetricList() : families_(std::make_unique<Families>()) {}
MetricList::~MetricList() = default;

void MetricList::Counter(std::string_view name, std::string_view help,
                         double value, const Labels& labels) {
  families_->Add(name, help, prometheus::MetricType::Counter, labels)
      .counter.value = value;
}

void MetricList::Gauge(std::string_view name, std::string_view help,
                       double value, const Labels& labels) {
  families_->Add(name, help, prometheus::MetricType::Gauge, labels)
      .gauge.value = value;
}

std::string MetricList::Text() const {
  return prometheus::TextSerializer().Serialize(families_->list);
}

}  // namespace feedmill
