// Limit of elements through shared memory: 16 buffers in a memfd. Each is
// filled by one copy, and every cache line is read in place. Messages over a
// ZeroMQ ipc socket name the buffers. The buffer freed last is filled next.
//
//   limit_ring MESSAGES BYTES

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bench/limits/sender_process.h"
#include "bench/limits/touch.h"
#include "bench/process_usage.h"

namespace {

constexpr uint32_t kBuffers = 16;
constexpr int kPatience = 30'000;  // ms

struct Descriptor {
  uint32_t buffer;
  uint32_t bytes;
  uint64_t sequence;
};

void Tune(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, kPatience);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
}

bool Receive(zmq::socket_t& socket, Descriptor& descriptor,
             zmq::recv_flags flags = zmq::recv_flags::none) {
  const auto got =
      socket.recv(zmq::mutable_buffer(&descriptor, sizeof(descriptor)), flags);
  return got.has_value() && got->size == sizeof(descriptor);
}

// Copies block k mod 16 of `source` into a free buffer for each message k.
int Send(const char* address, int messages, size_t bytes, const uint8_t* source,
         uint8_t* ring) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  Tune(socket);
  socket.connect(address);
  std::vector<uint32_t> free_buffers;
  for (uint32_t buffer = 0; buffer < kBuffers; ++buffer)
    free_buffers.push_back(buffer);
  for (int k = 0; k < messages; ++k) {
    for (Descriptor returned{};
         Receive(socket, returned,
                 free_buffers.empty() ? zmq::recv_flags::none
                                      : zmq::recv_flags::dontwait);) {
      free_buffers.push_back(returned.buffer);
    }
    if (free_buffers.empty()) return 1;
    const uint32_t buffer = free_buffers.back();
    free_buffers.pop_back();
    std::memcpy(ring + buffer * bytes,
                source + static_cast<size_t>(k) % kBuffers * bytes, bytes);
    const Descriptor descriptor{buffer, static_cast<uint32_t>(bytes),
                                static_cast<uint64_t>(k)};
    socket.send(zmq::const_buffer(&descriptor, sizeof(descriptor)),
                zmq::send_flags::none);
  }
  // Closing a socket with unread messages resets the connection.
  while (free_buffers.size() < kBuffers) {
    Descriptor returned{};
    if (!Receive(socket, returned)) return 1;
    free_buffers.push_back(returned.buffer);
  }
  return 0;
}

uint8_t* Map(size_t bytes, int flags, int fd) {
  void* const address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, 0);
  return address == MAP_FAILED ? nullptr : static_cast<uint8_t*>(address);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return std::fprintf(stderr, "usage: limit_ring MESSAGES BYTES\n"), 2;
  }
  const int messages = std::atoi(argv[1]);
  const auto bytes = static_cast<size_t>(std::atoll(argv[2]));
  const int fd = memfd_create("ring", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(kBuffers * bytes)) != 0)
    return 1;
  uint8_t* const ring = Map(kBuffers * bytes, MAP_SHARED, fd);
  uint8_t* const source =
      Map(kBuffers * bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (ring == nullptr || source == nullptr) return 1;
  for (size_t k = 0; k < kBuffers; ++k)
    std::memset(source + k * bytes, static_cast<int>(k), bytes);
  const double setup_cpu = feedmill::bench::CpuSeconds();
  const feedmill::bench::SenderProcess sender([&](const char* address) {
    return Send(address, messages, bytes, source, ring);
  });
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  Tune(socket);
  socket.bind("ipc://*");
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  if (!sender.Start(bound)) return 1;
  const auto start = std::chrono::steady_clock::now();
  uint64_t check = 0;
  for (int k = 0; k < messages; ++k) {
    Descriptor descriptor{};
    if (!Receive(socket, descriptor)) return 1;
    check += feedmill::bench::Touch(
        {ring + descriptor.buffer * bytes, descriptor.bytes});
    socket.send(zmq::const_buffer(&descriptor, sizeof(descriptor)),
                zmq::send_flags::none);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!sender.Join()) return 1;
  const double cpu = feedmill::bench::CpuSeconds() - setup_cpu +
                     feedmill::bench::CpuSeconds(RUSAGE_CHILDREN);
  std::printf(
      "{\"elements\": %d, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      messages, seconds, cpu, static_cast<unsigned long long>(check));
  return 0;
}
