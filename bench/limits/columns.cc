// Limit of small elements over TCP: 2,560 elements of 100 bytes in a columnar
// FlatBuffer. They are copied in, sent by libzmq, verified, and each element is
// read.
//
//   limit_columns SECONDS
//
// Element n holds the byte n mod 256, as in bench/run's small workload.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "bench/limits/sender_process.h"
#include "bench/process_usage.h"
#include "columns_generated.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kElementBytes = 100;
constexpr uint64_t kFrameElements = 2560;
// About 8 MiB, a multiple of 256 and of kFrameElements: whole frames cycle.
constexpr size_t kSourceElements = kFrameElements * 33;
constexpr int kHighWaterMark = 32;  // frames, 8 MiB
constexpr int kPatience = 30'000;   // ms

void Build(flatbuffers::FlatBufferBuilder& builder, const uint8_t* source) {
  builder.Clear();
  uint8_t* items = nullptr;
  const auto items_vector = builder.CreateUninitializedVector<uint8_t>(
      kFrameElements * kElementBytes, &items);
  uint32_t* offsets = nullptr;
  // One copy and one offset per element, because lengths may differ.
  static std::vector<uint32_t> bounds(kFrameElements + 1);
  for (size_t k = 0; k < kFrameElements; ++k) {
    bounds[k] = static_cast<uint32_t>(k * kElementBytes);
    std::memcpy(items + bounds[k], source + k * kElementBytes, kElementBytes);
  }
  bounds[kFrameElements] =
      static_cast<uint32_t>(kFrameElements * kElementBytes);
  const auto offsets_vector =
      builder.CreateUninitializedVector<uint32_t>(bounds.size(), &offsets);
  std::copy(bounds.begin(), bounds.end(), offsets);
  builder.Finish(feedmill::bench::CreateColumnFrame(
      builder, kFrameElements, offsets_vector, items_vector));
}

// Sends frames for `seconds`, then an empty message.
int Send(const char* address, double seconds) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::push);
  socket.set(zmq::sockopt::linger, kPatience);
  socket.set(zmq::sockopt::sndhwm, kHighWaterMark);
  socket.set(zmq::sockopt::sndtimeo, kPatience);
  socket.connect(address);
  std::vector<uint8_t> source(kSourceElements * kElementBytes);
  for (size_t k = 0; k < kSourceElements; ++k)
    std::memset(source.data() + k * kElementBytes, static_cast<int>(k % 256),
                kElementBytes);
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (size_t at = 0; Clock::now() < end;
       at = (at + kFrameElements) % kSourceElements) {
    Build(builder, source.data() + at * kElementBytes);
    if (!socket.send(
            zmq::const_buffer(builder.GetBufferPointer(), builder.GetSize()),
            zmq::send_flags::none)) {
      return 1;
    }
  }
  return socket.send(zmq::message_t(), zmq::send_flags::none) ? 0 : 1;
}

// Returns the frame, or null if a part of it lies outside the message.
const feedmill::bench::ColumnFrame* Verified(const zmq::message_t& message) {
  flatbuffers::Verifier verifier(message.data<uint8_t>(), message.size());
  if (!verifier.VerifyBuffer<feedmill::bench::ColumnFrame>(nullptr))
    return nullptr;
  const auto* const frame =
      flatbuffers::GetRoot<feedmill::bench::ColumnFrame>(message.data());
  if (frame->offsets() == nullptr || frame->items() == nullptr ||
      frame->offsets()->size() != frame->elements() + 1) {
    return nullptr;
  }
  const uint32_t* const offsets = frame->offsets()->data();
  bool ok = offsets[frame->elements()] <= frame->items()->size();
  for (uint64_t k = 0; k < frame->elements(); ++k)
    ok = ok && offsets[k] + sizeof(uint32_t) <= offsets[k + 1];
  return ok ? frame : nullptr;
}

// Like bench_trainer's `bytes`: first four bytes, last byte and size of each
// element.
uint64_t Read(const feedmill::bench::ColumnFrame& frame) {
  const uint8_t* const items = frame.items()->data();
  const uint32_t* const offsets = frame.offsets()->data();
  uint64_t sum = 0;
  for (uint64_t k = 0; k < frame.elements(); ++k) {
    uint32_t begin = 0;
    std::memcpy(&begin, items + offsets[k], sizeof(begin));
    sum += uint64_t{begin} + (offsets[k + 1] - offsets[k]) +
           items[offsets[k + 1] - 1];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return std::fprintf(stderr, "usage: limit_columns SECONDS\n"), 2;
  }
  const double duration = std::atof(argv[1]);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const feedmill::bench::SenderProcess sender(
      [&](const char* address) { return Send(address, duration); });
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::pull);
  socket.set(zmq::sockopt::rcvhwm, kHighWaterMark);
  socket.set(zmq::sockopt::rcvtimeo, kPatience);
  socket.bind("tcp://127.0.0.1:*");
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  if (!sender.Start(bound)) return 1;
  uint64_t check = 0, elements = 0;
  Clock::time_point start;
  for (zmq::message_t message;;) {
    if (!socket.recv(message)) return 1;
    if (message.size() == 0) break;
    if (elements == 0) start = Clock::now();
    const auto* const frame = Verified(message);
    if (frame == nullptr) {
      return std::fprintf(stderr, "limit_columns: a damaged frame\n"), 1;
    }
    check += Read(*frame);
    elements += frame->elements();
  }
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  if (elements == 0 || !sender.Join()) return 1;
  const double cpu = feedmill::bench::CpuSeconds() +
                     feedmill::bench::CpuSeconds(RUSAGE_CHILDREN);
  std::printf(
      "{\"elements\": %llu, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      static_cast<unsigned long long>(elements), seconds, cpu,
      static_cast<unsigned long long>(check));
  return 0;
}
