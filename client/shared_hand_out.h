#ifndef FEEDMILL_CLIENT_SHARED_HAND_OUT_H_
#define FEEDMILL_CLIENT_SHARED_HAND_OUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/pipeline/client_stage.h"

namespace feedmill {

class Cancellation;
class ServiceSource;

// The last chunk that a reader of a shared job (order any) gave to its
// application, and its permission to give the next one. Reports used rows to
// the service: other readers get the unused ones (P-172, P-173).
class SharedHandOut {
 public:
  // `source` must outlive this object.
  explicit SharedHandOut(ServiceSource& source) : source_(source) {}

  // The application is given `output`, which must stay in place until Forget.
  void Give(const ClientStage::Output& output);
  // Reports all rows of the last chunk as used, except its last `unread` rows.
  void Report(uint64_t unread);
  // The application has used the last chunk.
  void Finish() {
    Report(0);
    Forget();
  }
  // The last chunk is used, or it is another reader's.
  void Forget() { output_ = nullptr; }
  bool gave() const { return output_ != nullptr; }

  // Waits for a fresh permission of the event loop to give elements to the
  // application. False: the elements that the reader took, but did not give,
  // are another reader's. (In order, elements that left the buffers are always
  // this reader's.)
  absl::StatusOr<bool> MayHandOut(const Cancellation& cancellation,
                                  bool had_element);

 private:
  ServiceSource& source_;
  const ClientStage::Output* output_ = nullptr;  // its chunk may be moved
  uint64_t rows_ = 0;
  uint64_t base_ = 0;  // rows pulled before the rows that InputOf counts
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SHARED_HAND_OUT_H_
