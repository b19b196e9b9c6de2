#include "client/reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "client/read_token.h"
#include "client/service_reader.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/net/process_limits.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/local_reader.h"
#include "core/sources/field_inference.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLookInterval = absl::Milliseconds(50);

// Read in this process.
class InProcessReader : public Reader {
 public:
  InProcessReader(const Graph& graph, std::unique_ptr<LocalReader> reader,
                  const std::atomic<bool>* cancel)
      : graph_(graph), reader_(std::move(reader)), cancel_(cancel) {}

  absl::StatusOr<std::optional<Chunk>> Next() override {
    for (;;) {
      if (cancelled_.load() || (cancel_ != nullptr && cancel_->load())) {
        cancelled_.store(true);
        return Cancelled("reading was cancelled");
      }
      auto chunk = reader_->Next(absl::Now() + kLookInterval);
      if (!chunk.ok() && absl::IsDeadlineExceeded(chunk.status())) continue;
      if (chunk.ok() && chunk->has_value() && (*chunk)->rows == 0) continue;
      return chunk;
    }
  }
  const ElementSpec& spec() const override { return reader_->spec(); }
  uint64_t seed() const override { return reader_->seed(); }
  void Cancel() override { cancelled_.store(true); }

 private:
  absl::StatusOr<std::string> SaveBefore(uint64_t unread) const override {
    ReadToken token;
    token.parts = PartsOf(graph_);
    token.fingerprint = Fingerprint(graph_);
    token.plan = reader_->plan();
    token.seed = reader_->seed();
    token.iteration = reader_->iteration();
    token.place = reader_->PlaceBefore(unread);
    return EncodeToken(token);
  }

  const Graph graph_;
  const std::unique_ptr<LocalReader> reader_;
  const std::atomic<bool>* const cancel_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

std::string Element::ToJson() const {
  std::string json;
  AppendJson(*chunk_, row_, json);
  return json;
}

size_t Element::IndexOf(std::string_view name) const {
  const int index = chunk_->spec->Find(name);
  FM_CHECK(index >= 0);
  return static_cast<size_t>(index);
}

bool Reader::Advance() {
  unread_ = 0;
  absl::StatusOr<std::optional<Chunk>> next = Next();
  if (!next.ok()) {
    status_ = next.status();
    return false;
  }
  if (!next->has_value()) return false;
  current_ = **std::move(next);
  return true;
}

absl::StatusOr<std::unique_ptr<Reader>> Read(const Graph& graph,
                                             ReadOptions options) {
  TuneMalloc();
  if (options.registry == nullptr) {
    options.registry =
        std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  }
  Graph read = graph;
  if (options.seed.has_value()) read.options.seed = options.seed;
  if (options.processing_mode.has_value()) {
    read.options.processing_mode = *options.processing_mode;
  }
  std::error_code error;
  const std::filesystem::path working = std::filesystem::current_path(error);
  MakePathsAbsolute((working / options.directory).string(), read);
  FM_RETURN_IF_ERROR(InferFields(read));
  std::optional<ReadToken> token;
  if (!options.token.empty()) {
    FM_ASSIGN_OR_RETURN(token, DecodeToken(options.token));
    FM_RETURN_IF_ERROR(CheckToken(*token, read));
  }
  if (!options.service.empty()) {
    FM_ASSIGN_OR_RETURN(std::shared_ptr<const AnalyzedGraph> analyzed,
                        Analyze(read, *options.registry));
    return ReadFromService(std::move(analyzed), std::move(options),
                           std::move(token));
  }
  LocalReaderOptions local;
  local.threads = options.threads;
  if (token) local.resume = {token->seed, token->iteration, token->place};
  FM_ASSIGN_OR_RETURN(std::unique_ptr<LocalReader> reader,
                      LocalReader::Make(read, options.registry, local));
  if (token) FM_RETURN_IF_ERROR(CheckTokenPlan(*token, reader->plan()));
  return std::make_unique<InProcessReader>(read, std::move(reader),
                                           options.cancel);
}

}  // namespace feedmill
