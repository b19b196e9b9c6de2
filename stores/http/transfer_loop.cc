#include "stores/http/transfer_loop.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/process/thread_limit.h"
#include "stores/http/curl_attempt.h"
#include "stores/http/curl_sockets.h"

namespace feedmill {
namespace {

// Maximum interval between checks for abandoned and stalled transfers.
constexpr absl::Duration kMaxPollInterval = absl::Seconds(1);

}  // namespace

class TransferLoop::State
    : public std::enable_shared_from_this<TransferLoop::State> {
 public:
  // Stops all loops when the process exits, before libcurl's libraries are
  // cleaned up.
  class StopAtExit {
   public:
    void Add(std::weak_ptr<State> state) {
      const std::lock_guard lock(mutex_);
      std::erase_if(states_, [](const auto& each) { return each.expired(); });
      states_.push_back(std::move(state));
    }
    ~StopAtExit() {
      for (const auto& each : states_) {
        if (const auto state = each.lock()) state->Stop();
      }
    }

   private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<State>> states_;
  };
  // Made after libcurl is set up, and therefore destroyed before it.
  static StopAtExit& AllStopAtExit() {
    static StopAtExit all;
    return all;
  }

  explicit State(const HttpOptions& options) : options_(options) {}

  ~State() { Stop(); }

  void Start(std::vector<std::shared_ptr<Transfer>> transfers,
             Urgency urgency) {
    absl::Status status;
    {
      const std::lock_guard lock(mutex_);
      status = StartThread();
      if (status.ok()) {
        auto& queue = urgency == Urgency::kAwaited ? awaited_ : ahead_;
        queue.insert(queue.end(), transfers.begin(), transfers.end());
      }
    }
    if (status.ok()) return sockets_.Signal();
    for (const auto& transfer : transfers) transfer->Finish(status);
  }

  // Makes the loop look for abandoned transfers.
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      if (!sockets_.is_set_up()) return;
    }
    looks_ = true;
    sockets_.Signal();
  }

  const ServerDistances& distances() const { return distances_; }

  void Stop() {
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      thread = std::move(thread_);
    }
    Wake();
    if (thread.joinable()) thread.join();
  }

 private:
  // Caller holds mutex_. The library is set up when it is needed: most
  // processes need no network.
  absl::Status StartThread() {
    if (stopping_) return Cancelled("this process is stopping");
    if (thread_.joinable()) return absl::OkStatus();
    if (!sockets_.is_set_up()) {
      if (!sockets_.SetUp(2 * options_.requests_max)) {
        return ResourceExhausted(
            "no memory, or no file descriptor, is left for requests over HTTP");
      }
      AllStopAtExit().Add(weak_from_this());
    }
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      return ResourceExhausted("no thread for requests over HTTP: {}",
                               ThreadLimitsText());
    }
    return absl::OkStatus();
  }

  bool Stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  void Run() {
    // Other threads handle signals; a broken pipe is an error here.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!Stopping()) {
      const absl::Time now = SteadyNow();
      if (looks_.exchange(false) || now >= look_at_) EndStalled(now);
      BeginDue(now);
      sockets_.WaitAndHandle(NextLook());
      while (EndAnswered() > 0) BeginDue(SteadyNow());
    }
    EndAll();
  }

  // Returns the next queued transfer; null if there is none.
  std::shared_ptr<Transfer> Next() {
    const std::lock_guard lock(mutex_);
    for (auto* queue : {&awaited_, &ahead_}) {
      if (queue->empty()) continue;
      std::shared_ptr<Transfer> next = std::move(queue->front());
      queue->pop_front();
      return next;
    }
    return nullptr;
  }

  // True if another request may be sent. Silent ones leave their places to
  // others, so that servers that hang do not hold up the rest.
  bool HasRoom() const {
    const size_t silent =
        std::min({silent_, active_.size(), options_.requests_max});
    return active_.size() - silent < options_.requests_max;
  }

  // Starts repeats that are due, and new transfers, while there is room.
  void BeginDue(absl::Time now) {
    while (HasRoom()) {
      std::shared_ptr<Transfer> transfer;
      if (!paused_.empty() && paused_.begin()->first <= now) {
        transfer = std::move(paused_.begin()->second);
        paused_.erase(paused_.begin());
      } else {
        transfer = Next();
      }
      if (transfer == nullptr) return;
      if (transfer->abandoned()) {
        transfer->Finish(Cancelled("reading was stopped"));
      } else {
        Begin(std::move(transfer), now);
      }
    }
  }

  void Begin(std::shared_ptr<Transfer> transfer, absl::Time now,
             bool new_connection = false) {
    auto attempt = std::make_unique<CurlAttempt>();
    if (idle_.empty()) {
      attempt->easy.reset(curl_easy_init());
    } else {
      attempt->easy = std::move(idle_.back());
      idle_.pop_back();
      curl_easy_reset(attempt->easy.get());
    }
    if (attempt->easy == nullptr) {
      transfer->Finish(
          ResourceExhausted("no memory is left for requests over HTTP"));
      return;
    }
    attempt->transfer = std::move(transfer);
    SetUpAttempt(attempt->transfer->BeginAttempt(now), *attempt);
    CURL* const easy = attempt->easy.get();
    attempt->new_connection = new_connection;
    if (new_connection) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_multi_add_handle(sockets_.multi(), easy);
    look_at_ = std::min(look_at_, attempt->transfer->aborts_at());
    active_[easy] = std::move(attempt);
  }

  // Removes the attempt of a handle. Returns its transfer; null if there is
  // none.
  std::shared_ptr<Transfer> Remove(CURL* easy) {
    const auto found = active_.find(easy);
    if (found == active_.end()) return nullptr;
    const std::unique_ptr<CurlAttempt> attempt = std::move(found->second);
    active_.erase(found);
    curl_multi_remove_handle(sockets_.multi(), easy);
    // These options point into the attempt.
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
    idle_.push_back(std::move(attempt->easy));
    return attempt->transfer;
  }

  // Ends the attempt of a handle; its transfer may be repeated later.
  void End(CURL* easy, const AttemptEnd& end) {
    const auto transfer = Remove(easy);
    if (transfer == nullptr) return;
    if (const auto next = transfer->EndAttempt(SteadyNow(), end)) {
      paused_.emplace(*next, transfer);
    }
  }

  // Sends the request of a handle again, over a new connection.
  void Renew(CURL* easy) {
    Begin(Remove(easy), SteadyNow(), /*new_connection=*/true);
  }

  size_t EndAnswered() {
    size_t ended = 0;
    int left = 0;
    while (const CURLMsg* const message =
               curl_multi_info_read(sockets_.multi(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const auto found = active_.find(easy);
      if (found == active_.end()) continue;
      const CURLcode code = message->data.result;
      const CurlAttempt& attempt = *found->second;
      if (code == CURLE_OK) NoteDistance(attempt);
      ++ended;
      const AttemptEnd end = EndOf(code, attempt);
      if (MayBeFaultOfKeptConnection(end, attempt)) {
        Renew(easy);
      } else {
        End(easy, end);
      }
    }
    return ended;
  }

  void NoteDistance(const CurlAttempt& attempt) {
    CURL* const easy = attempt.easy.get();
    curl_off_t sent = 0;
    curl_off_t first = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
    distances_.Add(attempt.transfer->url(), absl::Microseconds(first - sent));
  }

  // Ends stalled attempts, and attempts of abandoned transfers. Counts the
  // silent ones.
  void EndStalled(absl::Time now) {
    look_at_ = now + kMaxPollInterval;
    silent_ = 0;
    std::vector<std::pair<CURL*, std::string>> ended;
    for (const auto& [easy, attempt] : active_) {
      const Transfer& transfer = *attempt->transfer;
      if (transfer.last_sign() + options_.silence <= now) ++silent_;
      if (transfer.aborts_at() <= now || transfer.abandoned()) {
        ended.emplace_back(easy, transfer.AbortReason(now));
      } else {
        look_at_ = std::min(look_at_, transfer.aborts_at());
      }
    }
    for (auto& [easy, reason] : ended) {
      End(easy, {AttemptEnd::Kind::kCut, std::move(reason)});
    }
    for (auto at = paused_.begin(); at != paused_.end();) {
      if (at->second->abandoned()) {
        at->second->Finish(Cancelled("reading was stopped"));
        at = paused_.erase(at);
      } else {
        ++at;
      }
    }
  }

  // Time of the next repeat, or of the next look for stalled attempts.
  absl::Time NextLook() const {
    absl::Time next =
        active_.empty() && paused_.empty() ? absl::InfiniteFuture() : look_at_;
    if (!paused_.empty() && HasRoom()) {
      next = std::min(next, paused_.begin()->first);
    }
    return next;
  }

  void EndAll() {
    const absl::Status stopped = Cancelled("this process is stopping");
    for (const auto& [easy, attempt] : active_) {
      curl_multi_remove_handle(sockets_.multi(), easy);
      attempt->transfer->Finish(stopped);
    }
    active_.clear();
    for (const auto& [at, transfer] : paused_) transfer->Finish(stopped);
    paused_.clear();
    while (const auto transfer = Next()) transfer->Finish(stopped);
  }

  const HttpOptions options_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::thread thread_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Transfer>> awaited_;
  std::deque<std::shared_ptr<Transfer>> ahead_;

  CurlSockets sockets_;              // set up before the thread starts
  std::atomic<bool> looks_ = false;  // see Wake
  ServerDistances distances_;

  // Used by the loop's thread only.
  absl::Time look_at_ = absl::InfinitePast();
  std::map<CURL*, std::unique_ptr<CurlAttempt>> active_;
  size_t silent_ = 0;  // active attempts that were silent at the last look
  std::multimap<absl::Time, std::shared_ptr<Transfer>> paused_;
  std::vector<CurlEasy> idle_;
};

TransferLoop::TransferLoop(const HttpOptions& options)
    : state_(std::make_shared<State>(options)) {}

TransferLoop::~TransferLoop() = default;

void TransferLoop::Start(std::vector<std::shared_ptr<Transfer>> transfers,
                         Urgency urgency) {
  state_->Start(std::move(transfers), urgency);
}

void TransferLoop::Wake() { state_->Wake(); }

void TransferLoop::Stop() { state_->Stop(); }

const ServerDistances& TransferLoop::distances() const {
  return state_->distances();
}

}  // namespace feedmill
