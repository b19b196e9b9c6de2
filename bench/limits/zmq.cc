// Limit of elements over TCP: libzmq alone, one process on each side, four
// messages in flight, sent without a copy, and every cache line read.
//
//   limit_zmq MESSAGES BYTES [--constant] [--curve]
//
// By default the sender fills each message, as a worker fills its elements.
// --constant  sends the same 16 blocks again and again, filled once
// --curve     encrypts the connection

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "bench/limits/sender_process.h"
#include "bench/limits/touch.h"
#include "bench/process_usage.h"

namespace {

constexpr int kCredit = 4;
// More than the credit: one block is filled while others are in flight.
constexpr int kBlocks = 16;
constexpr int kPatience = 30'000;  // ms

struct KeyPair {
  std::array<char, 41> public_key{}, secret_key{};
};

struct Options {
  int messages = 0;
  size_t bytes = 0;
  bool constant = false;
  bool curve = false;
  KeyPair sender, receiver;
};

void Tune(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, kPatience);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
}

int Send(const char* address, const Options& options) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  Tune(socket);
  if (options.curve) {
    socket.set(zmq::sockopt::curve_serverkey,
               options.receiver.public_key.data());
    socket.set(zmq::sockopt::curve_publickey, options.sender.public_key.data());
    socket.set(zmq::sockopt::curve_secretkey, options.sender.secret_key.data());
  }
  socket.connect(address);
  const size_t bytes = options.bytes;
  auto* const blocks = static_cast<std::byte*>(
      mmap(nullptr, kBlocks * bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (blocks == MAP_FAILED) return 1;
  if (options.constant) {
    for (size_t k = 0; k < kBlocks; ++k)
      std::memset(blocks + k * bytes, static_cast<int>(k), bytes);
  }
  int credit = kCredit;
  for (int k = 0; k < options.messages; ++k) {
    for (zmq::message_t returned;
         socket.recv(returned, credit > 0 ? zmq::recv_flags::dontwait
                                          : zmq::recv_flags::none);) {
      ++credit;
    }
    if (credit == 0) return 1;
    std::byte* const block = blocks + static_cast<size_t>(k % kBlocks) * bytes;
    if (!options.constant) std::memset(block, k % 256, bytes);
    socket.send(zmq::message_t(block, bytes, [](void*, void*) {}),
                zmq::send_flags::none);
    --credit;
  }
  // Closing a socket with unread credit resets the connection and loses
  // messages that the receiver has not read.
  for (zmq::message_t returned; credit < kCredit; ++credit) {
    if (!socket.recv(returned)) return 1;
  }
  return 0;
}

bool Parse(int argc, char** argv, Options& options) {
  if (argc < 3) return false;
  options.messages = std::atoi(argv[1]);
  options.bytes = static_cast<size_t>(std::atoll(argv[2]));
  for (int k = 3; k < argc; ++k) {
    const std::string_view flag = argv[k];
    if (flag == "--constant") {
      options.constant = true;
    } else if (flag == "--curve") {
      options.curve = true;
    } else {
      return false;
    }
  }
  for (KeyPair* keys : {&options.sender, &options.receiver}) {
    if (zmq_curve_keypair(keys->public_key.data(), keys->secret_key.data()) !=
        0) {
      return false;
    }
  }
  return options.messages > 0 && options.bytes > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: limit_zmq MESSAGES BYTES [--constant] [--curve]\n");
    return 2;
  }
  // Blocks of this size stay in the heap instead of being mapped each time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2000 << 20);
  const feedmill::bench::SenderProcess sender(
      [&](const char* address) { return Send(address, options); });
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  Tune(socket);
  if (options.curve) {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey,
               options.receiver.secret_key.data());
  }
  socket.bind("tcp://127.0.0.1:*");
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  if (!sender.Start(bound)) return 1;
  const auto start = std::chrono::steady_clock::now();
  uint64_t check = 0;
  for (int k = 0; k < options.messages; ++k) {
    zmq::message_t message;
    if (!socket.recv(message) || message.size() != options.bytes) return 1;
    check += feedmill::bench::Touch({message.data<uint8_t>(), message.size()});
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
      options.messages, seconds, cpu, static_cast<unsigned long long>(check));
  return 0;
}
