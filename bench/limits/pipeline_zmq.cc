// Limit of a pipeline whose results go to another process over TCP: a local
// read on all cores, whose batches libzmq sends without a copy, four in flight.
// No plan, no leases, no frames.
//
//   limit_pipeline_zmq PIPELINE.yaml
//
// `check` is computed as in bench_trainer's `images`.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <zmq.hpp>

#include "bench/limits/sender_process.h"
#include "bench/process_usage.h"
#include "core/definition/pipeline_text.h"
#include "core/net/process_limits.h"
#include "feedmill/reader.h"

namespace {

constexpr int kCredit = 4;
constexpr int kPatience = 30'000;  // ms

zmq::message_t Message(std::span<const uint8_t> items,
                       const std::shared_ptr<feedmill::Chunk>& kept) {
  using Kept = std::shared_ptr<feedmill::Chunk>;
  return {const_cast<uint8_t*>(items.data()), items.size(),
          [](void*, void* hint) { delete static_cast<Kept*>(hint); },
          new Kept(kept)};
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "limit_pipeline_zmq: %s\n", status.ToString().c_str());
  return 1;
}

// Sends the first component, tensors of one shape, and then an empty message.
int Send(const char* address, const std::string& path) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, kPatience);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
  socket.connect(address);
  std::ifstream in(path);
  const auto graph = feedmill::ParseGraphYaml(
      std::string(std::istreambuf_iterator<char>(in), {}),
      std::filesystem::absolute(path).parent_path().string());
  if (!graph.ok()) return Fail(graph.status());
  auto reader = feedmill::Read(*graph);
  if (!reader.ok()) return Fail(reader.status());
  int credit = kCredit;
  for (const feedmill::Chunk& chunk : (*reader)->chunks()) {
    // An element is a view of its chunk, so the chunk is kept while it is sent.
    const auto kept = std::make_shared<feedmill::Chunk>(chunk);
    const auto images = kept->columns[0].values.As<uint8_t>();
    const size_t bytes = images.size() / kept->rows;
    for (size_t row = 0; row < kept->rows; ++row, --credit) {
      for (zmq::message_t returned;
           socket.recv(returned, credit > 0 ? zmq::recv_flags::dontwait
                                            : zmq::recv_flags::none);) {
        ++credit;
      }
      if (credit == 0) return 1;
      socket.send(Message(images.subspan(row * bytes, bytes), kept),
                  zmq::send_flags::none);
    }
  }
  socket.send(zmq::message_t(), zmq::send_flags::none);
  for (zmq::message_t returned; credit < kCredit; ++credit) {
    if (!socket.recv(returned)) return 1;
  }
  return (*reader)->status().ok() ? 0 : Fail((*reader)->status());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return std::fprintf(stderr, "usage: limit_pipeline_zmq PIPELINE.yaml\n"), 2;
  }
  feedmill::TuneMalloc();
  const feedmill::bench::SenderProcess sender(
      [&](const char* address) { return Send(address, argv[1]); });
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
  socket.bind("tcp://127.0.0.1:*");
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  const auto start = std::chrono::steady_clock::now();
  if (!sender.Start(bound)) return 1;
  uint64_t check = 0, elements = 0;
  for (zmq::message_t message;; ++elements) {
    if (!socket.recv(message)) return 1;
    if (message.size() == 0) break;
    const auto* const items = message.data<uint8_t>();
    check += items[0] + uint64_t{items[message.size() - 1]};
    socket.send(zmq::message_t(), zmq::send_flags::none);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!sender.Join()) return 1;
  std::printf(
      "{\"elements\": %llu, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      static_cast<unsigned long long>(elements), seconds,
      feedmill::bench::CpuSeconds() +
          feedmill::bench::CpuSeconds(RUSAGE_CHILDREN),
      static_cast<unsigned long long>(check));
  return 0;
}
