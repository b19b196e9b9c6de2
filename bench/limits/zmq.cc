// The limit of elements that are made, sent and read: libzmq alone, one process
// a side, four messages under way, each filled before it is sent from where it
// was made. (limits/t2_zmq of ../shared sends the same 16 MB again and again.)
//
//   limit_zmq MESSAGES BYTES

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <zmq.hpp>

#include "bench/limits/sender_process.h"
#include "bench/process_usage.h"

namespace {

constexpr int kCredit = 4;
// One is filled while the others are on their way.
constexpr int kBlocks = 16;
constexpr int kPatience = 30'000;  // ms

int Send(const char* address, int messages, size_t bytes) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, kPatience);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
  socket.connect(address);
  auto* const blocks = static_cast<std::byte*>(
      mmap(nullptr, kBlocks * bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  int credit = kCredit;
  for (int k = 0; k < messages; ++k) {
    for (zmq::message_t returned;
         socket.recv(returned, credit > 0 ? zmq::recv_flags::dontwait
                                          : zmq::recv_flags::none);) {
      ++credit;
    }
    if (credit == 0) return 1;
    std::byte* const block = blocks + static_cast<size_t>(k % kBlocks) * bytes;
    std::memset(block, k % 256, bytes);
    socket.send(zmq::message_t(block, bytes, [](void*, void*) {}),
                zmq::send_flags::none);
    --credit;
  }
  // To close over credit that is unread would reset the connection, and lose
  // what the receiver has yet to read.
  for (zmq::message_t returned; credit < kCredit; ++credit) {
    if (!socket.recv(returned)) return 1;
  }
  return 0;
}

// As bench_trainer's `touch`: an item of each cache line.
uint64_t Touch(const zmq::message_t& message) {
  const auto* const items = message.data<uint8_t>();
  uint64_t sum = 0;
  for (size_t k = 0; k < message.size(); k += 64) sum += items[k];
  return sum + items[message.size() - 1];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: limit_zmq N BYTES\n"), 2;
  const int messages = std::atoi(argv[1]);
  const auto bytes = static_cast<size_t>(std::atoll(argv[2]));
  // Large messages from memory that is there already.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2000 << 20);
  const feedmill::bench::SenderProcess sender(
      [&](const char* address) { return Send(address, messages, bytes); });
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
  socket.bind("tcp://127.0.0.1:*");
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  if (!sender.Start(bound)) return 1;
  const auto start = std::chrono::steady_clock::now();
  uint64_t check = 0;
  for (int k = 0; k < messages; ++k) {
    zmq::message_t message;
    if (!socket.recv(message) || message.size() != bytes) return 1;
    check += Touch(message);
    socket.send(zmq::message_t(), zmq::send_flags::none);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!sender.Join()) return 1;
  const double cpu = feedmill::bench::CpuSeconds() +
                     feedmill::bench::CpuSeconds(RUSAGE_CHILDREN);
  std::printf(
      "{\"elements\": %d, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      messages, seconds, cpu, static_cast<unsigned long long>(check));
  return 0;
}
