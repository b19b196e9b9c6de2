#ifndef FEEDMILL_CORE_NET_SPLIT_LOG_H_
#define FEEDMILL_CORE_NET_SPLIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/net/log.h"
#include "core/wire/message.h"

namespace feedmill {

// Logs the way of splits through a process, as its messages tell it. Each line
// begins with the split's number, which is the same in all processes:
// "split 17: …"; in JSON it is also the field "split". Failed attempts are
// warnings, other lines are for level debug. Messages repeat; each line is
// written once.
//
// Thread-compatible.
class SplitLog {
 public:
  // `to` and `from` are the peer's routing id. Messages that concern no split
  // are ignored.
  void Sent(std::string_view to, const Message& message);
  void Received(std::string_view from, const Message& message);

 private:
  void Leased(const std::string& way, const WorkerAnswer& answer);
  void Failed(const std::string& where, const WorkerBeat& beat);
  void Bound(const std::string& way, const ClientAnswer& answer);
  void Reported(const std::string& way, const ClientBeat& beat);
  void Data(const std::string& way, const Frame& frame);
  // Writes the line unless this process has written it. All lines are forgotten
  // when there are kLinesMax.
  void LogNew(LogLevel level, const SplitId& split, const std::string& text);

  static constexpr size_t kLinesMax = 100'000;
  std::set<std::pair<SplitId, std::string>> lines_;
  // In the dispatcher: addresses of workers by routing id.
  std::map<std::string, std::string> workers_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SPLIT_LOG_H_
