#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "bench/dispatcher/load.h"
#include "bench/dispatcher/stubs.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/process_limits.h"
#include "core/wire/codec.h"
#include "zmq.hpp"

namespace feedmill::bench {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);
constexpr absl::Duration kSilence = absl::Seconds(30);

// A worker's connection. It is read only before a write, so that thousands of
// connections need no polling.
struct Peer {
  zmq::socket_t socket;
  StubWorker worker;
  zmq::message_t beat = BeatOf(worker);
  uint64_t beats = 0;
  uint64_t answers = 0;

  static zmq::message_t BeatOf(const StubWorker& worker) {
    const Parts parts = Encode(worker.Beat(), "");
    return {parts.front().data(), parts.front().size()};
  }
};

// Prepares the heartbeat that is repeated from the first answer on.
void TakeFirst(Peer& peer, const zmq::message_t& answer) {
  const auto* bytes = answer.data<const std::byte>();
  const auto message =
      Decode({Buffer::CopyOf({bytes, answer.size()})}, /*cluster_id=*/"");
  if (!message.ok()) return;
  peer.worker.Handle(*message);
  peer.beat = Peer::BeatOf(peer.worker);
}

// Sends a heartbeat; true if the socket accepted it.
bool Exchange(Peer& peer, bool first = false) {
  zmq::message_t answer;
  while (peer.socket.recv(answer, zmq::recv_flags::dontwait)) {
    ++peer.answers;
    if (first) TakeFirst(peer, answer);
  }
  zmq::message_t beat;
  beat.copy(peer.beat);
  const bool sent =
      peer.socket.send(beat, zmq::send_flags::dontwait).has_value();
  peer.beats += sent ? 1 : 0;
  return sent;
}

// Sends each peer's heartbeat once per interval, evenly spread.
void BeatAll(std::vector<Peer>& peers, bool first = false) {
  const absl::Time begin = SteadyNow();
  for (size_t k = 0; k < peers.size(); ++k) {
    const absl::Time turn = begin + kInterval * static_cast<double>(k) /
                                        static_cast<double>(peers.size());
    const absl::Duration wait = turn - SteadyNow();
    if (wait > absl::Milliseconds(2)) {
      std::this_thread::sleep_for(absl::ToChronoNanoseconds(wait));
    }
    Exchange(peers[k], first);
  }
  const absl::Duration rest = begin + kInterval - SteadyNow();
  std::this_thread::sleep_for(
      absl::ToChronoNanoseconds(std::max(rest, absl::ZeroDuration())));
}

bool AllAnswered(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers) {
    if (peer.answers == 0) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> RunHeartbeats(const HeartbeatLoad& load) {
  FM_RETURN_IF_ERROR(RaiseFileLimit());
  zmq::context_t context(1, static_cast<int>(load.workers) + 16);
  std::vector<Peer> peers;
  for (uint32_t k = 0; k < load.workers; ++k) {
    zmq::socket_t socket(context, ZMQ_DEALER);
    socket.set(zmq::sockopt::linger, 0);
    socket.connect(load.dispatcher);
    peers.push_back(
        {std::move(socket),
         StubWorker(fmt::format("{}-{}", load.first_name, k), /*slots=*/2)});
  }
  const absl::Time give_up = SteadyNow() + kSilence;
  while (!AllAnswered(peers)) {
    if (SteadyNow() > give_up) return Unavailable("a worker is not answered");
    BeatAll(peers, /*first=*/true);
  }
  std::puts("known");
  std::fflush(stdout);
  for (Peer& peer : peers) peer.beats = peer.answers = 0;
  const absl::Time end = SteadyNow() + load.time;
  while (SteadyNow() < end) BeatAll(peers);
  uint64_t beats = 0;
  uint64_t answers = 0;
  for (const Peer& peer : peers) {
    beats += peer.beats;
    answers += peer.answers;
  }
  return nlohmann::ordered_json{{"beats", beats}, {"answers", answers}}.dump();
}

absl::StatusOr<std::string> RunEcho() {
  FM_RETURN_IF_ERROR(RaiseFileLimit());
  zmq::context_t context(1);
  zmq::socket_t socket(context, ZMQ_ROUTER);
  socket.set(zmq::sockopt::backlog, 1'024);
  socket.bind("tcp://127.0.0.1:*");
  std::puts(socket.get(zmq::sockopt::last_endpoint).c_str());
  std::fflush(stdout);
  zmq::message_t from;
  zmq::message_t beat;
  while (socket.recv(from) && socket.recv(beat)) {
    socket.send(from, zmq::send_flags::sndmore);
    socket.send(beat, zmq::send_flags::none);
  }
  return Internal("the socket receives nothing any more");
}

}  // namespace feedmill::bench
