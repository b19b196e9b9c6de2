#ifndef FEEDMILL_CORE_NET_MAILBOX_H_
#define FEEDMILL_CORE_NET_MAILBOX_H_

#include <functional>
#include <memory>
#include <mutex>

#include "core/net/reactor.h"
#include "core/wire/message.h"

namespace feedmill {

// Where a reactor takes messages from others of its process as they are:
// nothing is written into bytes, and a frame's columns are shared.
//
// Thread-safety: any thread.
class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  using Take = std::function<void(const std::shared_ptr<Mailbox>& from,
                                  Message message)>;

  // `take` is called on the reactor's thread, until Close.
  static std::shared_ptr<Mailbox> Make(Reactor& reactor, Take take);

  // False if nobody takes it: then, and where the reactor ends first, it is
  // lost, as a message can be. `from`: where answers go.
  bool Put(std::shared_ptr<Mailbox> from, Message message);
  // Before the reactor goes. Must not wait for a Put from `take`.
  void Close();

 private:
  Mailbox(Reactor& reactor, Take take)
      : reactor_(&reactor), take_(std::move(take)) {}

  std::mutex mu_;
  Reactor* reactor_;  // guarded by mu_; null: closed
  const Take take_;
};

// The mailboxes of this process's workers, by name and life. A process that
// was forked off has none: its parent's threads are not there.
void AnnounceWorker(const WorkerId& worker, Incarnation incarnation,
                    std::shared_ptr<Mailbox> mailbox);
void WithdrawWorker(const WorkerId& worker, Incarnation incarnation);
// Null: it is in another process.
std::shared_ptr<Mailbox> FindWorker(const WorkerId& worker,
                                    Incarnation incarnation);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_MAILBOX_H_
