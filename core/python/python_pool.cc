#include "core/python/python_pool.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "core/python/column_layout.h"
#include "core/python/python_process.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

// Functions that stay loaded although no step uses them: those of the next
// epoch, or of the next job.
constexpr size_t kUnusedFunctionsMax = 4;

// A thread that starts processes. They end with the thread that started them,
// so it lives as long as they do.
class Starter {
 public:
  Starter() : thread_([this] { Work(); }) {}
  ~Starter() {
    {
      const std::lock_guard lock(mu_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  // Runs `task` on the thread, and waits for its end.
  void Run(const std::function<void()>& task) {
    const std::lock_guard one(running_);
    std::unique_lock lock(mu_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  void Work() {
    std::unique_lock lock(mu_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || task_ != nullptr; });
      if (task_ == nullptr) return;
      lock.unlock();
      (*task_)();
      lock.lock();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex running_;
  std::mutex mu_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;  // guarded by mu_
  bool ends_ = false;                            // guarded by mu_
  std::thread thread_;
};

Json JsonOf(const ElementSpec& spec) {
  Json list = Json::array();
  for (const ComponentSpec& component : spec.components) {
    list.push_back({{"name", component.name},
                    {"dtype", std::string(DTypeName(component.dtype))},
                    {"shape", component.shape}});
  }
  return list;
}

std::string SetupOf(const PythonCall& call) {
  const Json setup{
      {"parent", getpid()},
      {"python", call.step.python},
      {"packages", call.step.packages},
      {"call",
       call.step.call == PythonStep::Call::kBatch ? "batch" : "element"},
      {"memory_bytes", call.step.memory_bytes},
      {"input", JsonOf(call.input)},
      {"output", JsonOf(call.output)}};
  return setup.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EndText(const ProcessEnd& end) {
  if (WIFSIGNALED(end.status)) {
    const int number = WTERMSIG(end.status);
    const char* const name = sigabbrev_np(number);
    return fmt::format("by signal {}{} ({})", name == nullptr ? "" : "SIG",
                       name == nullptr ? std::to_string(number) : name,
                       strsignal(number));
  }
  return fmt::format("with status {}", WEXITSTATUS(end.status));
}

std::string TraceText(const ProcessEnd& end) {
  return end.trace.empty() ? "" : "\n" + end.trace;
}

class PooledFunction final : public PythonFunction {
 public:
  PooledFunction(PythonOptions options, std::shared_ptr<Starter> starter,
                 PythonCall call)
      : options_(std::move(options)),
        starter_(std::move(starter)),
        call_(std::move(call)),
        timeout_(absl::Seconds(call_.step.timeout_seconds)) {}

  absl::Status Prepare() override { return Zygote().status(); }
  // Ends the slots, which no call uses.
  void EndIdle() {
    std::vector<std::unique_ptr<PythonSlot>> ended;
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
    std::unique_ptr<PythonSlot> slot;
    size_t failed_row = 0;
  };
  // A slot returns to the idle ones when its user ends, by an exception too.
  class Lease;

  absl::StatusOr<std::shared_ptr<PythonZygote>> Zygote();
  void Forget(const std::shared_ptr<PythonZygote>& zygote);
  absl::StatusOr<std::unique_ptr<PythonSlot>> NewSlot();
  absl::Status RunRange(size_t begin, size_t end, bool again, Running& running);
  absl::Status Take(size_t rows, Running& running) const;
  absl::Status Failure(const PythonSlot::Outcome& outcome,
                       const absl::StatusOr<ProcessEnd>& end) const;

  const PythonOptions options_;
  const std::shared_ptr<Starter> starter_;
  const PythonCall call_;
  const absl::Duration timeout_;
  std::mutex starting_;
  std::mutex mu_;
  std::shared_ptr<PythonZygote> zygote_;           // guarded by mu_
  std::vector<std::unique_ptr<PythonSlot>> idle_;  // guarded by mu_
};

class PooledFunction::Lease {
 public:
  Lease(PooledFunction& pool, Running& running)
      : pool_(pool), running_(running) {}
  ~Lease() {
    if (running_.slot == nullptr) return;
    const std::lock_guard lock(pool_.mu_);
    pool_.idle_.push_back(std::move(running_.slot));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  PooledFunction& pool_;
  Running& running_;
};

absl::StatusOr<std::shared_ptr<PythonZygote>> PooledFunction::Zygote() {
  const std::lock_guard one(starting_);
  {
    const std::lock_guard lock(mu_);
    if (zygote_ != nullptr) return zygote_;
  }
  PythonZygote::Options options;
  options.interpreter = options_.interpreter;
  options.modules = options_.modules;
  options.setup = SetupOf(call_);
  if (!absl::Base64Unescape(call_.step.function, &options.pickled)) {
    return InvalidArgument("function is no Base64 text");
  }
  absl::StatusOr<std::shared_ptr<PythonZygote>> made =
      Internal("it was not started");
  const std::atomic<bool>* const stop = ReadStop::Current();
  starter_->Run([&] {
    std::optional<ReadStop> inherited;
    if (stop != nullptr) inherited.emplace(*stop);
    made = PythonZygote::Start(options);
  });
  if (!made.ok()) return made;
  const std::lock_guard lock(mu_);
  zygote_ = *made;
  return made;
}

// Drops a zygote that has ended, and its slots.
void PooledFunction::Forget(const std::shared_ptr<PythonZygote>& zygote) {
  std::vector<std::unique_ptr<PythonSlot>> dropped;
  const std::lock_guard lock(mu_);
  if (zygote_ != zygote) return;
  zygote_.reset();
  idle_.swap(dropped);
}

absl::StatusOr<std::unique_ptr<PythonSlot>> PooledFunction::NewSlot() {
  {
    const std::lock_guard lock(mu_);
    if (!idle_.empty()) {
      std::unique_ptr<PythonSlot> slot = std::move(idle_.back());
      idle_.pop_back();
      return slot;
    }
  }
  FM_ASSIGN_OR_RETURN(auto zygote, Zygote());
  auto slot = PythonSlot::Fork(zygote);
  if (!absl::IsUnavailable(slot.status())) return slot;
  Forget(zygote);
  FM_ASSIGN_OR_RETURN(zygote, Zygote());
  return PythonSlot::Fork(zygote);
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
// `again`; then in parts, down to the row that does it.
absl::Status PooledFunction::RunRange(size_t begin, size_t end, bool again,
                                      Running& running) {
  const RequestLayout request(running.columns, begin, end - begin);
  for (;;) {
    if (running.slot == nullptr) {
      running.failed_row = begin;
      FM_ASSIGN_OR_RETURN(running.slot, NewSlot());
    }
    using Kind = PythonSlot::Outcome::Kind;
    absl::StatusOr<PythonSlot::Outcome> outcome =
        running.slot->Call(request, timeout_);
    if (outcome.ok() && outcome->kind == Kind::kMade) {
      return Take(end - begin, running);
    }
    running.failed_row =
        outcome.ok() ? begin + std::min(outcome->row, end - begin - 1) : begin;
    if (outcome.ok() && outcome->kind == Kind::kFailed) {
      return Failure(*outcome, ProcessEnd());
    }
    const auto ended =
        running.slot->End(outcome.ok() && outcome->kind == Kind::kHung);
    running.slot.reset();
    FM_RETURN_IF_ERROR(outcome.status());
    if (outcome->kind == Kind::kStopped) {
      return Cancelled("the reading was ended");
    }
    if (std::exchange(again, false)) continue;
    if (end - begin == 1) return Failure(*outcome, ended);
    // The row that was being made is probably the one.
    const size_t at = std::min(outcome->row, end - begin - 1);
    const size_t middle = call_.step.call == PythonStep::Call::kBatch
                              ? begin + (end - begin) / 2
                              : begin + std::max<size_t>(at, 1);
    FM_RETURN_IF_ERROR(RunRange(begin, middle, false, running));
    return RunRange(middle, end, false, running);
  }
}

absl::Status PooledFunction::Take(size_t rows, Running& running) const {
  const auto memory = running.slot->result();
  for (size_t c = 0; c < running.results.size(); ++c) {
    FM_RETURN_IF_ERROR(running.results[c].Append(memory, c, rows));
  }
  return absl::OkStatus();
}

absl::Status PooledFunction::Failure(
    const PythonSlot::Outcome& outcome,
    const absl::StatusOr<ProcessEnd>& end) const {
  using Kind = PythonSlot::Outcome::Kind;
  if (outcome.kind == Kind::kFailed) {
    return DataLoss("the Python function {}", outcome.text);
  }
  if (outcome.kind == Kind::kHung) {
    return DataLoss(
        "the Python function took longer than {} s; raise timeout=, or find "
        "out where it waits{}",
        call_.step.timeout_seconds, end.ok() ? TraceText(*end) : "");
  }
  if (!end.ok()) return DataLoss("the Python function ended its process");
  return DataLoss("the Python function ended its process {}{}", EndText(*end),
                  TraceText(*end));
}

// A function while it is used.
class UsedFunction final : public PythonFunction {
 public:
  explicit UsedFunction(std::shared_ptr<PooledFunction> pooled)
      : pooled_(std::move(pooled)) {}
  ~UsedFunction() override { pooled_->EndIdle(); }

  absl::Status Prepare() override { return pooled_->Prepare(); }
  absl::Status Run(std::span<const Column* const> inputs, const Column& bits,
                   size_t rows, std::span<OutputColumn* const> outputs,
                   size_t& failed_row) override {
    return pooled_->Run(inputs, bits, rows, outputs, failed_row);
  }

 private:
  const std::shared_ptr<PooledFunction> pooled_;
};

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
    std::string key =
        fmt::format("{} {} {}", SetupOf(call), call.step.timeout_seconds,
                    call.step.function);
    const std::lock_guard lock(mu_);
    const auto known = std::find_if(
        kept_.begin(), kept_.end(),
        [&key](const Kept& kept) { return kept.key == key; });
    Kept kept;
    if (known != kept_.end()) {
      kept = std::move(*known);
      kept_.erase(known);
    } else {
      if (starter_ == nullptr) starter_ = std::make_shared<Starter>();
      kept.key = std::move(key);
      kept.pooled = std::make_shared<PooledFunction>(options_, starter_, call);
    }
    auto function = kept.used.lock();
    if (function == nullptr) {
      function = std::make_shared<UsedFunction>(kept.pooled);
      kept.used = function;
    }
    kept_.push_front(std::move(kept));
    DropUnused();
    return function;
  }

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<PooledFunction> pooled;
    std::weak_ptr<UsedFunction> used;
  };

  // Forgets the functions without users but for the first ones, which were used
  // last.
  void DropUnused() {
    size_t unused = 0;
    std::erase_if(kept_, [&unused](const Kept& kept) {
      return kept.used.expired() && ++unused > kUnusedFunctionsMax;
    });
  }

  const PythonOptions options_;
  std::mutex mu_;
  std::shared_ptr<Starter> starter_;  // guarded by mu_
  // By their last use, newest first. Guarded by mu_.
  std::list<Kept> kept_;
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
