#include "core/python/example_call.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/dataset/python_functions.h"
#include "core/python/loaded_function.h"
#include "core/python/python_process.h"

namespace feedmill {
namespace {

// Returns the text behind the word of the row; `length` has its bytes.
absl::StatusOr<std::string> TextOf(std::span<const std::byte> memory,
                                   const std::string& length) {
  uint64_t bytes = 0;
  if (length.size() == sizeof bytes) {
    std::memcpy(&bytes, length.data(), sizeof bytes);
  }
  constexpr size_t kRowWord = sizeof(int64_t);
  if (bytes == 0 || bytes > memory.size() - kRowWord) {
    return Internal("a Python process gave a text of {} bytes", bytes);
  }
  return std::string(reinterpret_cast<const char*>(&memory[kRowWord]), bytes);
}

}  // namespace

absl::StatusOr<std::string> CallWithExamples(const PythonOptions& options,
                                             const ExampleCall& call) {
  FM_RETURN_IF_ERROR(
      CheckPythonCode(call.function, call.timeout_seconds, call.memory_bytes));
  PythonZygote::Options zygote;
  zygote.interpreter = options.interpreter;
  zygote.modules = options.modules;
  zygote.setup = call.setup;
  absl::Base64Unescape(call.function, &zygote.pickled);
  FM_ASSIGN_OR_RETURN(auto loaded, PythonZygote::Start(zygote));
  FM_ASSIGN_OR_RETURN(const auto process,
                      PythonProcess::Fork(std::move(loaded)));
  FM_ASSIGN_OR_RETURN(
      const PythonProcess::Outcome outcome,
      process->Send("call", absl::Seconds(call.timeout_seconds)));
  using Kind = PythonProcess::Outcome::Kind;
  if (outcome.kind == Kind::kMade)
    return TextOf(process->result(), outcome.text);
  if (outcome.kind == Kind::kStopped) return Cancelled("it was interrupted");
  const auto ended = process->End(outcome.kind == Kind::kHung);
  return EndedError(outcome, ended, call.timeout_seconds);
}

}  // namespace feedmill
