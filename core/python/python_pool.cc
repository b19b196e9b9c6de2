#include "core/python/python_pool.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/dataset/generator_source.h"
#include "core/python/column_layout.h"
#include "core/python/loaded_function.h"
#include "core/python/python_generator.h"
#include "core/python/python_process.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

// Functions that stay loaded although no step uses them: the next epoch or
// the next job may.
constexpr size_t kUnusedFunctionsMax = 4;

template <class Code>
Json CodeOf(const Code& code) {
  return {{"parent", getpid()},
          {"python", code.python},
          {"packages", code.packages},
          {"memory_bytes", code.memory_bytes}};
}

Json JsonOf(const ElementSpec& spec) {
  Json list = Json::array();
  for (const ComponentSpec& component : spec.components) {
    list.push_back(
        {{"name", component.name},
         {"dtype", std::string(TypeName(component.dtype, component.logical))},
         {"shape", component.shape}});
  }
  return list;
}

std::string TextOf(const Json& setup) {
  return setup.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string SetupOf(const PythonCall& call) {
  Json setup = CodeOf(call.step);
  setup["call"] =
      call.step.call == PythonStep::Call::kBatch ? "batch" : "element";
  setup["input"] = JsonOf(call.input);
  setup["output"] = JsonOf(call.output);
  return TextOf(setup);
}

std::string SetupOf(const GeneratorSource& source) {
  Json setup = CodeOf(source);
  setup["call"] = "generator";
  setup["shards"] = source.shards;
  setup["output"] = JsonOf(SpecOfPython(source.output));
  return TextOf(setup);
}

class PooledFunction final : public PythonFunction {
 public:
  PooledFunction(std::shared_ptr<LoadedFunction> loaded, PythonCall call)
      : loaded_(std::move(loaded)),
        call_(std::move(call)),
        timeout_(absl::Seconds(call_.step.timeout_seconds)) {}

  absl::Status Prepare() override { return loaded_->Prepare(); }
  // Ends the processes. REQUIRES: no call uses them.
  void EndIdle() {
    std::vector<std::unique_ptr<PythonProcess>> ended;
    const std::lock_guard lock(mu_);
    idle_.swap(ended);
  }

  absl::Status Run(std::span<const Column* const> inputs, const Column& bits,
                   size_t rows, std::span<OutputColumn* const> outputs,
                   size_t& failed_row) override;

 private:
  // The state of a Run.
  struct Running {
    std::vector<const Column*> columns;
    std::vector<ResultRows> results;
    std::unique_ptr<PythonProcess> process;
    size_t failed_row = 0;
    int lost_zygotes = 0;  // since the last rows that were made
  };
  // A process returns to the idle ones when its user ends, by an exception too.
  class Lease;

  absl::StatusOr<std::unique_ptr<PythonProcess>> TakeProcess();
  absl::Status RunRange(size_t begin, size_t end, bool again, Running& running);
  absl::Status Take(size_t rows, Running& running) const;
  absl::Status Failure(const PythonProcess::Outcome& outcome,
                       const absl::StatusOr<ProcessEnd>& end) const;

  const std::shared_ptr<LoadedFunction> loaded_;
  const PythonCall call_;
  const absl::Duration timeout_;
  std::mutex mu_;
  std::vector<std::unique_ptr<PythonProcess>> idle_;  // guarded by mu_
};

class PooledFunction::Lease {
 public:
  Lease(PooledFunction& pool, Running& running)
      : pool_(pool), running_(running) {}
  ~Lease() {
    if (running_.process == nullptr) return;
    const std::lock_guard lock(pool_.mu_);
    pool_.idle_.push_back(std::move(running_.process));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  PooledFunction& pool_;
  Running& running_;
};

absl::StatusOr<std::unique_ptr<PythonProcess>> PooledFunction::TakeProcess() {
  for (;;) {
    std::unique_ptr<PythonProcess> process;
    {
      const std::lock_guard lock(mu_);
      if (idle_.empty()) break;
      process = std::move(idle_.back());
      idle_.pop_back();
    }
    if (process->Waits()) return process;  // else it ended while it was idle
  }
  return loaded_->NewProcess();
}

absl::Status PooledFunction::Run(std::span<const Column* const> inputs,
                                 const Column& bits, size_t rows,
                                 std::span<OutputColumn* const> outputs,
                                 size_t& failed_row) {
  Running running;
  const Lease lease(*this, running);
  running.columns.assign(inputs.begin(), inputs.end());
  running.columns.push_back(&bits);
  running.results.resize(outputs.size());
  for (size_t c = 0; c < outputs.size(); ++c) {
    running.results[c].Begin(call_.output.components[c], outputs[c]);
  }
  const absl::Status status = RunRange(0, rows, /*again=*/true, running);
  failed_row = running.failed_row;
  FM_RETURN_IF_ERROR(status);
  for (ResultRows& result : running.results) result.Finish();
  return absl::OkStatus();
}

// Runs rows [begin, end). If the process ends or hangs, runs them once more if
// `again`; then in parts, down to the row that does it, which runs twice.
absl::Status PooledFunction::RunRange(size_t begin, size_t end, bool again,
                                      Running& running) {
  const RequestLayout request(running.columns, begin, end - begin);
  for (;;) {
    if (running.process == nullptr) {
      running.failed_row = begin;
      FM_ASSIGN_OR_RETURN(running.process, TakeProcess());
    }
    using Kind = PythonProcess::Outcome::Kind;
    absl::StatusOr<PythonProcess::Outcome> outcome =
        running.process->Call(request, timeout_);
    if (outcome.ok() && outcome->kind == Kind::kMade) {
      running.lost_zygotes = 0;
      return Take(end - begin, running);
    }
    running.failed_row =
        outcome.ok() ? begin + std::min(outcome->row, end - begin - 1) : begin;
    if (outcome.ok() && outcome->kind == Kind::kFailed) {
      return Failure(*outcome, ProcessEnd());
    }
    const auto ended =
        running.process->End(outcome.ok() && outcome->kind == Kind::kHung);
    running.process.reset();
    FM_RETURN_IF_ERROR(outcome.status());
    if (outcome->kind == Kind::kStopped) {
      return Cancelled("the reading was ended");
    }
    const bool ended_itself = outcome->kind == Kind::kEnded;
    if (ended_itself && absl::IsUnavailable(ended.status()) &&
        ++running.lost_zygotes <= kLostZygotesMax) {
      continue;
    }
    if (std::exchange(again, false)) continue;
    if (end - begin == 1) return Failure(*outcome, ended);
    // The row that was being made is probably the one.
    const size_t at = std::min(outcome->row, end - begin - 1);
    const size_t middle = call_.step.call == PythonStep::Call::kBatch
                              ? begin + (end - begin) / 2
                              : begin + std::max<size_t>(at, 1);
    const auto run = [&](size_t from, size_t to) {
      return RunRange(from, to, ended_itself && to - from == 1, running);
    };
    FM_RETURN_IF_ERROR(run(begin, middle));
    return run(middle, end);
  }
}

absl::Status PooledFunction::Take(size_t rows, Running& running) const {
  const auto memory = running.process->result();
  for (size_t c = 0; c < running.results.size(); ++c) {
    FM_RETURN_IF_ERROR(running.results[c].Append(memory, c, rows));
  }
  return absl::OkStatus();
}

absl::Status PooledFunction::Failure(
    const PythonProcess::Outcome& outcome,
    const absl::StatusOr<ProcessEnd>& end) const {
  using Kind = PythonProcess::Outcome::Kind;
  if (outcome.kind == Kind::kFailed) {
    return DataLoss("the Python function {}", outcome.text);
  }
  return EndedError(outcome, end, call_.step.timeout_seconds);
}

absl::StatusOr<PythonInterpreter> InterpreterOf(const std::string& path,
                                                const std::string& text) {
  const Json said = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  PythonInterpreter interpreter{path, ""};
  if (said.is_object()) interpreter.version = said.value("version", "");
  if (interpreter.version.empty()) {
    return FailedPrecondition(
        "the Python interpreter {} ended before it had said its versions; it "
        "must be Python 3.10 or later. Its last lines are in the log of this "
        "process",
        path);
  }
  std::map<std::string, std::string> versions;  // Python finds the first one
  for (const Json& package : said.value("packages", Json::array())) {
    if (!package.is_string()) continue;
    const std::string& text_of = package.get_ref<const std::string&>();
    const size_t name = std::min(text_of.find("=="), text_of.size());
    versions.emplace(
        NormalPackageName(std::string_view(text_of).substr(0, name)),
        text_of.substr(name));
  }
  auto& packages = interpreter.packages;
  for (const auto& [name, version] : versions) {
    packages.push_back(name + version);
  }
  std::sort(packages.begin(), packages.end());
  if (packages.size() > kPythonPackagesMax) {
    return FailedPrecondition("{} has {} packages, more than {}", path,
                              packages.size(), kPythonPackagesMax);
  }
  return interpreter;
}

// The functions that are used, and the last ones that were.
class KeptFunctions : public std::enable_shared_from_this<KeptFunctions> {
 public:
  // Returns the function of that key, which `make` makes if it is not there.
  template <class Pooled, class Make>
  std::shared_ptr<Pooled> Use(std::string key, const Make& make) {
    const std::lock_guard lock(mu_);
    auto known = std::find_if(kept_.begin(), kept_.end(),
                              [&](const Kept& one) { return one.key == key; });
    if (known == kept_.end()) {
      known = kept_.insert(known, Kept{std::move(key), make(), {}});
    }
    kept_.splice(kept_.begin(), kept_, known);
    const auto pooled = std::static_pointer_cast<Pooled>(known->pooled);
    auto used = std::static_pointer_cast<Pooled>(known->used.lock());
    if (used == nullptr) {
      used = std::shared_ptr<Pooled>(
          pooled.get(), [pooled, kept = weak_from_this()](Pooled*) {
            pooled->EndIdle();
            if (const auto all = kept.lock()) all->DropUnused();
          });
      known->used = used;
    }
    return used;
  }

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<void> pooled;  // of the type that its key names
    std::weak_ptr<void> used;
  };

  // Forgets the functions without users but for those used last.
  void DropUnused() {
    std::list<Kept> dropped;  // destroyed outside the lock
    const std::lock_guard lock(mu_);
    size_t unused = 0;
    for (auto at = kept_.begin(); at != kept_.end();) {
      const auto one = at++;
      if (one->used.expired() && ++unused > kUnusedFunctionsMax) {
        dropped.splice(dropped.end(), kept_, one);
      }
    }
  }

  std::mutex mu_;
  std::list<Kept> kept_;  // by their last use, newest first; guarded by mu_
};

class PythonPool final : public PythonFunctions {
 public:
  explicit PythonPool(PythonOptions options) : options_(std::move(options)) {}

  absl::StatusOr<PythonInterpreter> Describe() override {
    PythonZygote::Options options;
    options.interpreter = options_.interpreter;
    options.modules = options_.modules;
    options.setup = Json{{"parent", getpid()}, {"describe", true}}.dump();
    FM_ASSIGN_OR_RETURN(const std::string text,
                        PythonZygote::Describe(options));
    return InterpreterOf(options_.interpreter, text);
  }

  std::shared_ptr<PythonFunction> Load(const PythonCall& call) override {
    const std::string setup = SetupOf(call);
    std::string key = fmt::format("{} {} {}", setup, call.step.timeout_seconds,
                                  call.step.function);
    return Use<PooledFunction>(std::move(key), setup, call.step.function, call);
  }
  std::shared_ptr<PythonGenerator> LoadGenerator(
      const GeneratorSource& source) override {
    const std::string setup = SetupOf(source);
    std::string key =
        fmt::format("{} {} {}", setup, source.timeout_seconds, source.function);
    return Use<ProcessGenerator>(std::move(key), setup, source.function,
                                 source);
  }

 private:
  template <class Pooled, class Code>
  std::shared_ptr<Pooled> Use(std::string key, const std::string& setup,
                              const std::string& function, const Code& code) {
    return kept_->Use<Pooled>(std::move(key), [&] {
      if (starter_ == nullptr) starter_ = MakeStarter();
      return std::make_shared<Pooled>(
          std::make_shared<LoadedFunction>(options_, starter_, setup, function),
          code);
    });
  }

  const PythonOptions options_;
  std::shared_ptr<Starter> starter_;  // set in calls of kept_->Use
  const std::shared_ptr<KeptFunctions> kept_ =
      std::make_shared<KeptFunctions>();
};

}  // namespace

absl::StatusOr<std::shared_ptr<PythonFunctions>> MakePythonPool(
    PythonOptions options) {
  if (!options.interpreter.starts_with('/')) {
    return InvalidArgument(
        "the Python interpreter \"{}\" is no absolute path, such as {}",
        options.interpreter, "/usr/bin/python3");
  }
  if (access(options.interpreter.c_str(), X_OK) != 0) {
    return InvalidArgument("the Python interpreter {}: {}", options.interpreter,
                           std::strerror(errno));
  }
  return std::make_shared<PythonPool>(std::move(options));
}

absl::StatusOr<std::shared_ptr<const FunctionRegistry>> WithPython(
    std::shared_ptr<const FunctionRegistry> functions, PythonOptions options) {
  if (options.interpreter.empty()) return functions;
  auto all = std::make_shared<FunctionRegistry>(*functions);
  FM_ASSIGN_OR_RETURN(auto pool, MakePythonPool(std::move(options)));
  all->AllowPython(std::move(pool));
  return std::shared_ptr<const FunctionRegistry>(std::move(all));
}

}  // namespace feedmill
