#include <utility>

#include "client/reader_roster.h"
#include "core/base/status.h"
#include "feedmill/status.h"
#include "monitoring/monitor.h"

namespace feedmill {

MetricsServer::MetricsServer(std::unique_ptr<Monitor> monitor)
    : monitor_(std::move(monitor)) {}

MetricsServer::~MetricsServer() { monitor_->Stop(); }

const std::string& MetricsServer::url() const { return monitor_->address(); }

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const MetricsServerConfig& config) {
  auto monitor = std::make_unique<Monitor>(MonitorSources{
      .readers = [] { return ReaderRoster::OfThisProcess().Totals(); }});
  FM_RETURN_IF_ERROR(monitor->Start(config.address, config.open));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(monitor)));
}

}  // namespace feedmill
