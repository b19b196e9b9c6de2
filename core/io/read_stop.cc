#include "core/io/read_stop.h"

namespace feedmill {
namespace {

thread_local const std::atomic<bool>* g_read_stop = nullptr;

}  // namespace

ReadStop::ReadStop(const std::atomic<bool>& stopped) : outer_(g_read_stop) {
  g_read_stop = &stopped;
}

ReadStop::~ReadStop() { g_read_stop = outer_; }

bool ReadStop::Asked() { return g_read_stop != nullptr && *g_read_stop; }

const std::atomic<bool>* ReadStop::Current() { return g_read_stop; }

}  // namespace feedmill
