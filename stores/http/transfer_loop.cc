#include "stores/http/transfer_loop.h"

#include <curl/curl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/process/certificate_authorities.h"
#include "core/process/owned_fd.h"
#include "core/process/thread_limit.h"

namespace feedmill {
namespace {

constexpr long kConnectMs = 10'000;
constexpr long kRedirectsMax = 5;
constexpr long kBufferBytes = 256 << 10;
// Maximum interval between checks for abandoned and stalled transfers.
constexpr absl::Duration kMaxPollInterval = absl::Seconds(1);

struct SlistFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct EasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

// One attempt of a transfer.
struct Attempt {
  std::shared_ptr<Transfer> transfer;
  std::unique_ptr<CURL, EasyFree> easy;
  std::unique_ptr<curl_slist, SlistFree> headers;
  std::shared_ptr<const std::string> body;  // null: none
  curl_off_t sent = 0;                      // bytes of `body`
  bool new_connection = false;              // not a kept one
  char error[CURL_ERROR_SIZE] = "";
};

size_t OnHeader(char* data, size_t, size_t size, void* user) {
  static_cast<Transfer*>(user)->TakeHeaderLine({data, size}, SteadyNow());
  return size;
}

size_t OnBody(char* data, size_t, size_t size, void* user) {
  const std::span<const char> bytes(data, size);
  return static_cast<Transfer*>(user)->TakeBody(std::as_bytes(bytes),
                                                SteadyNow())
             ? size
             : 0;  // ends the attempt
}

// A body on its way is a sign that the connection works.
int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t,
               curl_off_t sent) {
  auto& attempt = *static_cast<Attempt*>(user);
  if (sent > attempt.sent) {
    attempt.transfer->TakeSent(static_cast<uint64_t>(sent), SteadyNow());
  }
  attempt.sent = sent;
  return 0;
}

void AddHeader(const std::string& line, Attempt& attempt) {
  curl_slist* const longer =
      curl_slist_append(attempt.headers.get(), line.c_str());
  if (longer == nullptr) return;
  attempt.headers.release();  // the list's head stays the same
  attempt.headers.reset(longer);
}

// Sets redirects, certificates and credentials, for a web server or a store.
void SetUpAccess(const StoreRequest& request, CURL* easy) {
  std::string authorities = AuthoritiesFile();
  if (request.is_web) {
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kRedirectsMax);
    curl_easy_setopt(easy, CURLOPT_NETRC,
                     static_cast<long>(CURL_NETRC_OPTIONAL));
  } else {
    // Names of objects may have the parts "." and "..".
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    if (const char* own = std::getenv("AWS_CA_BUNDLE")) authorities = own;
  }
  if (!authorities.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, authorities.c_str());
  }
  if (request.signature.empty()) return;
  curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, request.signature.c_str());
  curl_easy_setopt(easy, CURLOPT_USERNAME, request.access_key.c_str());
  curl_easy_setopt(easy, CURLOPT_PASSWORD, request.secret_key.c_str());
}

// Makes the request send the attempt's body.
void SetUpBody(Attempt& attempt) {
  CURL* const easy = attempt.easy.get();
  AddHeader("Content-Type: application/octet-stream", attempt);
  AddHeader("Expect:", attempt);  // no round trip before the body
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(attempt.body->size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, attempt.body->data());
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &attempt);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

void SetUp(const std::string& range, Attempt& attempt) {
  CURL* const easy = attempt.easy.get();
  Transfer& transfer = *attempt.transfer;
  const StoreRequest request = transfer.Request();
  const bool secure = request.url.starts_with("https:");
  attempt.body = request.body;
  if (attempt.body != nullptr) SetUpBody(attempt);
  if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  for (const std::string& line : request.headers) AddHeader(line, attempt);
  if (const std::string line = transfer.Condition(); !line.empty()) {
    AddHeader(line, attempt);
  }
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                   secure ? "https" : "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "feedmill");
  curl_easy_setopt(easy, CURLOPT_SSLVERSION,
                   static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  SetUpAccess(request, easy);
  if (!range.empty()) curl_easy_setopt(easy, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, attempt.headers.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, attempt.error);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
}

// True if the answer does not begin as one of HTTP.
bool IsNoHttp(CURLcode code, const Attempt& attempt) {
  // The code is also that of a redirect to another protocol.
  return code == CURLE_WEIRD_SERVER_REPLY ||
         (code == CURLE_UNSUPPORTED_PROTOCOL &&
          attempt.transfer->answer() == 0);
}

AttemptEnd EndOf(CURLcode code, const Attempt& attempt) {
  using Kind = AttemptEnd::Kind;
  if (IsNoHttp(code, attempt)) {
    return {Kind::kCut, "the server's answer is no HTTP"};
  }
  const std::string& url = attempt.transfer->url();
  const std::string reason = attempt.error[0] != '\0'
                                 ? std::string(attempt.error)
                                 : curl_easy_strerror(code);
  switch (code) {
    case CURLE_OK:
      return {};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      return {Kind::kUnreachable, reason};
    case CURLE_URL_MALFORMAT:
      return {Kind::kHopeless, "",
              InvalidArgument("{}: no URL of a file: {}", url, reason)};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_TOO_MANY_REDIRECTS:
      return {Kind::kHopeless, "",
              FailedPrecondition(
                  "{}: cannot follow the server's redirect ({}): at most {} "
                  "are followed, to http or https, and from https to https "
                  "only; name the last place itself",
                  url, reason, kRedirectsMax)};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return {
          Kind::kHopeless, "",
          FailedPrecondition("{}: the server's certificate is not trusted: {}; "
                             "SSL_CERT_FILE names a file of other authorities",
                             url, reason)};
    default:
      return {Kind::kCut, reason};
  }
}

// True if a request got no answer on a connection of an earlier request. The
// server may have sent bytes behind the earlier answer, and libcurl has several
// codes for what it makes of them: CURLE_OUT_OF_MEMORY for more than 100 KB.
bool MayBeFaultOfKeptConnection(const AttemptEnd& end, const Attempt& attempt) {
  if (end.kind != AttemptEnd::Kind::kCut || attempt.new_connection ||
      attempt.transfer->answer() != 0) {
    return false;
  }
  long new_connections = 0;
  curl_easy_getinfo(attempt.easy.get(), CURLINFO_NUM_CONNECTS,
                    &new_connections);
  return new_connections == 0;
}

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

  ~State() {
    Stop();
    if (multi_ == nullptr) return;
    idle_.clear();
    // Closing connections reports their sockets.
    curl_multi_cleanup(multi_);
    curl_global_cleanup();
  }

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
    if (status.ok()) return Signal();
    for (const auto& transfer : transfers) transfer->Finish(status);
  }

  // Makes the loop look for abandoned transfers.
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      if (multi_ == nullptr) return;
    }
    looks_ = true;
    Signal();
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
  // Ends the loop's present or next wait. REQUIRES: the library is set up.
  void Signal() {
    if (signalled_.exchange(true)) return;
    const uint64_t one = 1;
    // Only a full counter refuses the write, and then the wait ends anyway.
    [[maybe_unused]] const ssize_t wrote = write(wake_.get(), &one, sizeof one);
  }

  // libcurl says which sockets it waits for. It then handles those that are
  // ready only; curl_multi_perform would ask the kernel about each.
  static int OnSocket(CURL*, curl_socket_t socket, int what, void* user,
                      void* known) {
    auto& self = *static_cast<State*>(user);
    epoll_event event{};
    event.data.fd = socket;
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(self.epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    const int how = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (known == nullptr) curl_multi_assign(self.multi_, socket, user);
    if (epoll_ctl(self.epoll_.get(), how, socket, &event) == 0) return 0;
    // libcurl may close a socket, and open another of that number, unreported.
    const int other = how == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    return epoll_ctl(self.epoll_.get(), other, socket, &event);
  }

  static int OnTimer(CURLM*, long milliseconds, void* user) {
    static_cast<State*>(user)->due_ =
        milliseconds < 0 ? absl::InfiniteFuture()
                         : SteadyNow() + absl::Milliseconds(milliseconds);
    return 0;
  }

  // Caller holds mutex_. Delayed until needed: most processes need no network.
  bool SetUpLibrary() {
    epoll_ = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
    wake_ = OwnedFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = wake_.get();
    if (!epoll_.valid() || !wake_.valid() ||
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
      return false;
    }
    // Thread-safe in this libcurl; calls are counted.
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_ = curl_multi_init();
    if (multi_ == nullptr) {
      curl_global_cleanup();
      return false;
    }
    const auto most = static_cast<long>(2 * options_.requests_max);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, most);
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, most);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &OnSocket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &OnTimer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    AllStopAtExit().Add(weak_from_this());
    return true;
  }

  // Caller holds mutex_.
  absl::Status StartThread() {
    if (stopping_) return Cancelled("this process is stopping");
    if (thread_.joinable()) return absl::OkStatus();
    if (multi_ == nullptr && !SetUpLibrary()) {
      return ResourceExhausted(
          "no memory, or no file descriptor, is left for requests over HTTP");
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
      Handle(Await(std::min(NextLook(), due_) - SteadyNow()));
      while (EndAnswered() > 0) BeginDue(SteadyNow());
    }
    EndAll();
  }

  // Waits for sockets, a signal, or the end of `wait`.
  std::span<const epoll_event> Await(absl::Duration wait) {
    wait = std::clamp(wait, absl::ZeroDuration(), kMaxPollInterval);
    const auto milliseconds = static_cast<int>(
        absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
    const int count =
        epoll_wait(epoll_.get(), events_.data(),
                   static_cast<int>(events_.size()), milliseconds);
    return std::span(events_).first(static_cast<size_t>(std::max(count, 0)));
  }

  void Handle(std::span<const epoll_event> events) {
    int running = 0;
    for (const epoll_event& event : events) {
      if (event.data.fd == wake_.get()) {
        uint64_t count = 0;
        [[maybe_unused]] const ssize_t got =
            read(wake_.get(), &count, sizeof count);
        signalled_ = false;  // before the queues are read
        continue;
      }
      int what = 0;
      if ((event.events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
      if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
      curl_multi_socket_action(multi_, event.data.fd, what, &running);
    }
    if (SteadyNow() < due_) return;
    due_ = absl::InfiniteFuture();  // libcurl sets it again
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
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
    auto attempt = std::make_unique<Attempt>();
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
    SetUp(attempt->transfer->BeginAttempt(now), *attempt);
    CURL* const easy = attempt->easy.get();
    attempt->new_connection = new_connection;
    if (new_connection) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_multi_add_handle(multi_, easy);
    look_at_ = std::min(look_at_, attempt->transfer->aborts_at());
    active_[easy] = std::move(attempt);
  }

  // Removes the attempt of a handle. Returns its transfer; null if there is
  // none.
  std::shared_ptr<Transfer> Remove(CURL* easy) {
    const auto found = active_.find(easy);
    if (found == active_.end()) return nullptr;
    const std::unique_ptr<Attempt> attempt = std::move(found->second);
    active_.erase(found);
    curl_multi_remove_handle(multi_, easy);
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
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const auto found = active_.find(easy);
      if (found == active_.end()) continue;
      const CURLcode code = message->data.result;
      const Attempt& attempt = *found->second;
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

  void NoteDistance(const Attempt& attempt) {
    CURL* const easy = attempt.easy.get();
    curl_off_t sent = 0;
    curl_off_t first = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
    distances_.Add(attempt.transfer->url(), absl::Microseconds(first - sent));
  }

  // Ends stalled attempts, and those of abandoned transfers. Counts the silent
  // ones.
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
      curl_multi_remove_handle(multi_, easy);
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
  CURLM* multi_ = nullptr;  // set before the thread starts
  std::thread thread_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Transfer>> awaited_;
  std::deque<std::shared_ptr<Transfer>> ahead_;

  OwnedFd epoll_;                        // set before the thread starts
  OwnedFd wake_;                         // the same
  std::atomic<bool> signalled_ = false;  // wake_ is or becomes readable
  std::atomic<bool> looks_ = false;      // see Wake
  ServerDistances distances_;

  // Used by the loop's thread only.
  std::array<epoll_event, 64> events_{};
  absl::Time due_ = absl::InfiniteFuture();  // of libcurl's timer
  absl::Time look_at_ = absl::InfinitePast();
  std::map<CURL*, std::unique_ptr<Attempt>> active_;
  size_t silent_ = 0;  // active attempts that were silent at the last look
  std::multimap<absl::Time, std::shared_ptr<Transfer>> paused_;
  std::vector<std::unique_ptr<CURL, EasyFree>> idle_;
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
