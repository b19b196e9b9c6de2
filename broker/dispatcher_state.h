#ifndef FEEDMILL_BROKER_DISPATCHER_STATE_H_
#define FEEDMILL_BROKER_DISPATCHER_STATE_H_
// Placeholder until the dispatcher's author writes it.
namespace feedmill {
struct DispatcherEvent {};
struct DispatcherState {};
}  // namespace feedmill
#endif  // FEEDMILL_BROKER_DISPATCHER_STATE_H_
