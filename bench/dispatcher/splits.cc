#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/dispatcher/load.h"
#include "bench/dispatcher/stubs.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "feedmill/dataset.h"

namespace feedmill::bench {
namespace {

constexpr absl::Duration kKeepAlive = absl::Milliseconds(100);
constexpr absl::Duration kGiveUp = absl::Seconds(120);

// All stubs, on one thread, each with its own connection.
class Stubs : public ReactorHandler {
 public:
  explicit Stubs(const SplitLoad& load)
      : load_(load), reactor_("fm-stubs"), messenger_(reactor_, "") {}

  absl::StatusOr<std::string> Run();

 private:
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override { return next_beat_; }

  absl::Status Connect();
  void Say(SocketId socket, absl::Time now);
  bool over() const;
  absl::Status Check() const;

  const SplitLoad load_;
  Reactor reactor_;
  Messenger messenger_;
  std::map<SocketId, StubWorker> workers_;
  std::map<SocketId, StubClient> clients_;
  absl::Time next_beat_ = absl::InfinitePast();
  absl::Time began_ = absl::InfiniteFuture();
  absl::Time ended_ = absl::InfiniteFuture();
  absl::Time give_up_ = SteadyNow() + kGiveUp;
};

absl::Status Stubs::Connect() {
  FM_ASSIGN_OR_RETURN(const Address address, ParseAddress(load_.dispatcher));
  for (uint32_t k = 0; k < load_.workers; ++k) {
    FM_ASSIGN_OR_RETURN(const SocketId id, reactor_.Connect(address, {}));
    workers_.emplace(
        id, StubWorker(fmt::format("tcp://127.0.0.1:{}", k + 1), load_.slots));
  }
  const std::string graph =
      CanonicalText(Dataset::Range(static_cast<int64_t>(load_.splits)).graph());
  for (uint32_t k = 0; k < load_.clients; ++k) {
    FM_ASSIGN_OR_RETURN(const SocketId id, reactor_.Connect(address, {}));
    clients_.emplace(id,
                     StubClient("bench", fmt::format("client-{}", k), graph));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Stubs::Run() {
  FM_RETURN_IF_ERROR(Connect());
  reactor_.Start(this);
  reactor_.Join();
  FM_RETURN_IF_ERROR(Check());
  uint64_t splits = 0;
  uint64_t smallest = 0;
  for (const auto& [id, client] : clients_) {
    splits += client.splits();
    for (const auto& [begin, end] : client.done()) smallest += end - begin == 1;
  }
  const double seconds = absl::ToDoubleSeconds(ended_ - began_);
  return nlohmann::ordered_json{
      {"elements", load_.splits},  // positions
      {"splits", splits},
      {"of_one_position", smallest},
      {"seconds", seconds},
      {"splits_per_s", static_cast<double>(splits) / seconds}}
      .dump();
}

// Checks that every position was in exactly one split of one client, leased to
// a worker.
absl::Status Stubs::Check() const {
  std::map<uint64_t, uint64_t> done;
  uint64_t splits = 0;
  uint64_t leased = 0;
  for (const auto& [id, client] : clients_) {
    FM_RETURN_IF_ERROR(client.refused());
    splits += client.splits();
    if (client.repeated() > 0) return Internal("a split came twice");
    done.insert(client.done().begin(), client.done().end());
  }
  for (const auto& [id, worker] : workers_) leased += worker.leased();
  if (ended_ == absl::InfiniteFuture()) {
    return DeadlineExceeded("{} positions were done when the time was over",
                            done.size());
  }
  uint64_t next = 0;
  for (const auto& [begin, end] : done) {
    if (begin != next) return Internal("position {} was lost", next);
    next = end;
  }
  if (next != load_.splits || done.size() != splits || leased < splits) {
    return Internal("{} positions in {} splits, {} of them leased", next,
                    splits, leased);
  }
  return absl::OkStatus();
}

bool Stubs::over() const {
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& c) {
    return c.second.finished() || !c.second.refused().ok();
  });
}

void Stubs::Say(SocketId socket, absl::Time now) {
  if (const auto it = workers_.find(socket); it != workers_.end()) {
    messenger_.Send(socket, "", it->second.Beat());
    return;
  }
  const StubClient& client = clients_.at(socket);
  if (client.live()) {
    messenger_.Send(socket, "", client.Beat(now));
  } else {
    messenger_.Send(socket, "", client.Hello());
  }
}

void Stubs::OnMessage(absl::Time now, SocketId socket, std::string_view from,
                      std::vector<Buffer> parts) {
  const absl::StatusOr<Message> message =
      messenger_.Receive(now, socket, from, parts, /*answer=*/false);
  if (!message.ok()) return;
  const auto worker = workers_.find(socket);
  const bool news = worker != workers_.end()
                        ? worker->second.Handle(*message)
                        : clients_.at(socket).Handle(*message);
  if (!news) return;
  if (worker == workers_.end()) began_ = std::min(began_, now);
  Say(socket, now);
}

void Stubs::OnTurn(absl::Time now) {
  if (over() || now > give_up_) {
    if (over()) ended_ = now;
    return reactor_.Stop();
  }
  if (now < next_beat_) return;
  next_beat_ = now + kKeepAlive;
  for (const auto& [id, worker] : workers_) Say(id, now);
  for (const auto& [id, client] : clients_) Say(id, now);
}

}  // namespace

absl::StatusOr<std::string> RunSplits(const SplitLoad& load) {
  return Stubs(load).Run();
}

}  // namespace feedmill::bench
