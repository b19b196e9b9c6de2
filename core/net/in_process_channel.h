#ifndef FEEDMILL_CORE_NET_IN_PROCESS_CHANNEL_H_
#define FEEDMILL_CORE_NET_IN_PROCESS_CHANNEL_H_

#include <functional>
#include <memory>
#include <mutex>

#include "core/net/reactor.h"
#include "core/wire/message.h"

namespace feedmill {

// In-process channel to a reactor. Passes messages without serialising them;
// the columns of a frame are shared.
//
// Thread-safety: any thread.
class InProcessChannel : public std::enable_shared_from_this<InProcessChannel> {
 public:
  using Take = std::function<void(const std::shared_ptr<InProcessChannel>& from,
                                  Message message)>;

  // `take` is called on the reactor's thread, until Close.
  static std::shared_ptr<InProcessChannel> Make(Reactor& reactor, Take take);

  // Returns false if the receiver is closed. The message is lost then, and also
  // if the reactor ends before it runs `take`. `from`: channel for answers.
  bool Put(std::shared_ptr<InProcessChannel> from, Message message);
  // Call before the reactor is destroyed. Must not wait for a Put from `take`.
  void Close();

 private:
  InProcessChannel(Reactor& reactor, Take take)
      : reactor_(&reactor), take_(std::move(take)) {}

  std::mutex mu_;
  Reactor* reactor_;  // guarded by mu_; null: closed
  const Take take_;
};

// Registry of this process's worker channels, by worker and incarnation. Empty
// in a forked child, because its parent's threads do not exist there.
void AnnounceWorker(const WorkerId& worker, Incarnation incarnation,
                    std::shared_ptr<InProcessChannel> channel);
void WithdrawWorker(const WorkerId& worker, Incarnation incarnation);
// Returns null if the worker is in another process.
std::shared_ptr<InProcessChannel> FindWorker(const WorkerId& worker,
                                             Incarnation incarnation);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_IN_PROCESS_CHANNEL_H_
