// A trainer that only consumes: reads a pipeline through the C++ API, element
// by element, and prints the result and its cost for this process.
//
//   bench_trainer PIPELINE.yaml CONSUME [--service ADDRESS] [--keys DIR]
//   [--tcp] [--threads N] [--stop-after-first] [--time-end]
//
// CONSUME  sum     adds up each element's int64 (the check is the sum)
//          chunks  the same, chunk by chunk
//          bytes   reads the first four bytes, the last one and the size of
//                  each uint8 tensor
//          strings adds up the sizes of each element's first component
//          items   adds up the int64 items of each element's first component
//          touch   reads one byte a cache line of each uint8 tensor
//          images  reads the first and last byte of each batch's `image`
//
// --time-end  records when each element came: `end_s` is the time from the last
//             element until the end of the data was known

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/process_usage.h"
#include "core/definition/pipeline_text.h"
#include "feedmill/reader.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Result {
  uint64_t elements = 0, rows = 0, bytes = 0, check = 0;
  double first_s = 0, last_s = 0, seconds = 0;
};

struct Moments {
  bool first_only = false;
  bool end = false;
};

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Sum(const feedmill::Element& element, Result& result) {
  result.check += static_cast<uint64_t>(element.Get<int64_t>());
  result.rows += 1;
  result.bytes += sizeof(int64_t);
}

void Bytes(const feedmill::Element& element, Result& result) {
  const auto tensor = element.Tensor<uint8_t>();
  uint32_t begin = 0;
  std::memcpy(&begin, tensor.items.data(), sizeof(begin));
  result.check += begin + tensor.items.size() + tensor.items.back();
  result.rows += 1;
  result.bytes += tensor.items.size();
}

void Strings(const feedmill::Element& element, Result& result) {
  const size_t size = element.Bytes().size();
  result.check += size;
  result.rows += 1;
  result.bytes += size;
}

void Items(const feedmill::Element& element, Result& result) {
  const auto tensor = element.Tensor<int64_t>();
  for (const int64_t item : tensor.items)
    result.check += static_cast<uint64_t>(item);
  result.rows +=
      tensor.shape.empty() ? 1 : static_cast<uint64_t>(tensor.shape[0]);
  result.bytes += tensor.items.size() * sizeof(int64_t);
}

void Touch(const feedmill::Element& element, Result& result) {
  const auto tensor = element.Tensor<uint8_t>();
  const size_t size = tensor.items.size();
  for (size_t k = 0; k < size; k += 64) result.check += tensor.items[k];
  result.check += tensor.items[size - 1];
  result.rows += 1;
  result.bytes += size;
}

void Images(const feedmill::Element& element, Result& result) {
  const auto images = element.Tensor<uint8_t>("image");
  result.check += images.items.front();
  result.check += images.items.back();
  result.rows += static_cast<uint64_t>(images.shape[0]);
  result.bytes += images.items.size();
}

// The element loops are templates, so that the consumer is inlined like a
// trainer's own code. Each loop is a function of its own.
template <void (*consume)(const feedmill::Element&, Result&)>
[[gnu::noinline]] void Consume(feedmill::Reader& reader, Result& counted) {
  Result result;  // local, so that it can stay in registers
  for (const feedmill::Element element : reader) {
    ++result.elements;
    consume(element, result);
  }
  counted = result;
}

template <void (*consume)(const feedmill::Element&, Result&)>
[[gnu::noinline]] void ConsumeAndTime(feedmill::Reader& reader,
                                      Clock::time_point start, Moments moments,
                                      Result& result) {
  for (const feedmill::Element element : reader) {
    if (result.elements++ == 0) result.first_s = Since(start);
    consume(element, result);
    if (moments.end) result.last_s = Since(start);
    if (moments.first_only) break;
  }
}

template <void (*consume)(const feedmill::Element&, Result&)>
absl::Status Loop(const feedmill::Graph& graph,
                  const feedmill::ReadOptions& options, Moments moments,
                  Result& result) {
  const Clock::time_point start = Clock::now();
  auto reader = feedmill::Read(graph, options);
  if (!reader.ok()) return reader.status();
  if (moments.first_only || moments.end) {
    ConsumeAndTime<consume>(**reader, start, moments, result);
  } else {
    Consume<consume>(**reader, result);
  }
  result.seconds = Since(start);
  return (*reader)->status();
}

absl::Status LoopOverChunks(const feedmill::Graph& graph,
                            const feedmill::ReadOptions& options,
                            Result& result) {
  const Clock::time_point start = Clock::now();
  auto reader = feedmill::Read(graph, options);
  if (!reader.ok()) return reader.status();
  for (const feedmill::Chunk& chunk : (*reader)->chunks()) {
    uint64_t sum = 0;
    for (const int64_t item : chunk.columns[0].values.As<int64_t>())
      sum += static_cast<uint64_t>(item);
    result.check += sum;
    result.elements += chunk.rows;
    result.bytes += chunk.rows * sizeof(int64_t);
  }
  result.rows = result.elements;
  result.seconds = Since(start);
  return (*reader)->status();
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

int main(int argc, char** argv) {
  feedmill::ReadOptions options;
  std::string path, consume;
  Moments moments;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--service" && k + 1 < argc)
      options.service = argv[++k];
    else if (argument == "--keys" && k + 1 < argc)
      options.security.keys = argv[++k];
    else if (argument == "--threads" && k + 1 < argc)
      options.limits.threads = std::stoi(argv[++k]);
    else if (argument == "--tcp")
      options.transport.kind = feedmill::Transport::kTcp;
    else if (argument == "--stop-after-first")
      moments.first_only = true;
    else if (argument == "--time-end")
      moments.end = true;
    else
      (path.empty() ? path : consume) = argument;
  }
  if (consume.empty()) {
    std::fprintf(stderr,
                 "usage: bench_trainer PIPELINE.yaml "
                 "sum|chunks|bytes|strings|items|touch|images "
                 "[--service ADDRESS] [--keys DIR] [--tcp] [--threads N] "
                 "[--stop-after-first] [--time-end]\n");
    return 2;
  }
  const auto graph = feedmill::ParseGraphYaml(
      ReadFile(path), std::filesystem::absolute(path).parent_path().string());
  if (!graph.ok()) {
    std::fprintf(stderr, "bench_trainer: %s\n",
                 graph.status().ToString().c_str());
    return 2;
  }
  Result result;
  const double cpu = feedmill::bench::CpuSeconds();
  const absl::Status status =
      consume == "sum"       ? Loop<Sum>(*graph, options, moments, result)
      : consume == "chunks"  ? LoopOverChunks(*graph, options, result)
      : consume == "bytes"   ? Loop<Bytes>(*graph, options, moments, result)
      : consume == "strings" ? Loop<Strings>(*graph, options, moments, result)
      : consume == "items"   ? Loop<Items>(*graph, options, moments, result)
      : consume == "touch"   ? Loop<Touch>(*graph, options, moments, result)
                             : Loop<Images>(*graph, options, moments, result);
  if (!status.ok()) {
    std::fprintf(stderr, "bench_trainer: %s\n", status.ToString().c_str());
    return 1;
  }
  std::printf(
      "{\"elements\": %llu, \"rows\": %llu, \"bytes\": %llu, \"seconds\": "
      "%.4f, "
      "\"first_s\": %.4f, \"end_s\": %.5f, \"cpu_s\": %.3f, \"peak_mb\": %.1f, "
      "\"check\": "
      "%llu}\n",
      static_cast<unsigned long long>(result.elements),
      static_cast<unsigned long long>(result.rows),
      static_cast<unsigned long long>(result.bytes), result.seconds,
      result.first_s, moments.end ? result.seconds - result.last_s : 0.0,
      feedmill::bench::CpuSeconds() - cpu, feedmill::bench::PeakMegabytes(),
      static_cast<unsigned long long>(result.check));
  return 0;
}
