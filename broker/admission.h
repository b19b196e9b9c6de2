#ifndef FEEDMILL_BROKER_ADMISSION_H_
#define FEEDMILL_BROKER_ADMISSION_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/dispatcher_context.h"
#include "broker/pass_settler.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// True if both shares have elements in common: the same rank, or different
// numbers of ranks.
bool Conflict(const Share& a, const Share& b);

// Decides whether a reader may open a session. Changes nothing. Pure.
class Admission {
 public:
  // The references must outlive this object.
  Admission(const DispatcherContext& context, const PassSettler& settler)
      : context_(context), settler_(settler) {}

  // InvalidArgument for a hello that no client sends.
  static absl::Status CheckForm(const ClientHello& hello);
  // True if this reader would replace a session that was not heard since the
  // dispatcher's last stall. That session's last messages may be still unread.
  bool FindsUnread(absl::Time now, const ClientHello& hello) const;
  // OK if this reader may join the job in its present state.
  absl::Status Check(absl::Time now, const ClientHello& hello) const;

 private:
  const DispatcherContext& context_;
  const PassSettler& settler_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_ADMISSION_H_
