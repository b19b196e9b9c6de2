#include "core/python/loaded_function.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/status.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

constexpr std::chrono::milliseconds kStopCheckInterval(50);

}  // namespace

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

  // Runs `task` on the thread, and waits for its end. A ReadStop of the calling
  // thread learns from Asked() whether it stops.
  void Run(const std::function<void()>& task) {
    const std::lock_guard one(running_);
    std::unique_lock lock(mu_);
    task_ = &task;
    changed_.notify_all();
    const auto done = [this] { return task_ == nullptr; };
    while (!changed_.wait_for(lock, kStopCheckInterval, done)) {
      lock.unlock();
      static_cast<void>(ReadStop::Asked());
      lock.lock();
    }
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

std::shared_ptr<Starter> MakeStarter() { return std::make_shared<Starter>(); }

LoadedFunction::LoadedFunction(PythonOptions options,
                               std::shared_ptr<Starter> starter,
                               std::string setup, std::string function)
    : options_(std::move(options)),
      starter_(std::move(starter)),
      setup_(std::move(setup)),
      function_(std::move(function)) {}

absl::StatusOr<std::shared_ptr<PythonZygote>> LoadedFunction::Zygote() {
  const std::lock_guard one(starting_);
  {
    const std::lock_guard lock(mu_);
    if (zygote_ != nullptr) return zygote_;
  }
  PythonZygote::Options options;
  options.interpreter = options_.interpreter;
  options.modules = options_.modules;
  options.setup = setup_;
  if (!absl::Base64Unescape(function_, &options.pickled)) {
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

absl::StatusOr<std::unique_ptr<PythonProcess>> LoadedFunction::NewProcess() {
  for (int lost = 0;; ++lost) {
    FM_ASSIGN_OR_RETURN(const auto zygote, Zygote());
    auto process = PythonProcess::Fork(zygote);
    if (!absl::IsUnavailable(process.status()) || lost == kLostZygotesMax) {
      return process;
    }
    const std::lock_guard lock(mu_);
    if (zygote_ == zygote) zygote_.reset();
  }
}

namespace {

std::string TraceText(const ProcessEnd& end) {
  return end.trace.empty() ? "" : "\n" + end.trace;
}

}  // namespace

absl::Status EndedError(const PythonProcess::Outcome& outcome,
                        const absl::StatusOr<ProcessEnd>& end,
                        double timeout_seconds) {
  if (outcome.kind == PythonProcess::Outcome::Kind::kHung) {
    return DataLoss(
        "the Python function took longer than {} s; raise timeout=, or find "
        "out where it waits{}",
        timeout_seconds, end.ok() ? TraceText(*end) : "");
  }
  if (!end.ok()) return DataLoss("the Python function ended its process");
  return DataLoss("the Python function ended its process {}{}",
                  EndText(end->status), TraceText(*end));
}

}  // namespace feedmill
