#include "core/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>

#include "core/process/owned_fd.h"

namespace feedmill {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int Spawn(SpawnOptions program, pid_t& pid) {
  const OwnedFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int count = static_cast<int>(program.fds.size());
  std::vector<OwnedFd> moved;  // so that none is one of the targets
  for (const int fd : program.fds) {
    moved.emplace_back(fcntl(fd < 0 ? null.get() : fd, F_DUPFD_CLOEXEC, count));
    if (!moved.back().valid()) return errno;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int target = 0; target < count; ++target) {
    posix_spawn_file_actions_adddup2(
        &actions, moved[static_cast<size_t>(target)].get(), target);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                         (program.own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  const int error = posix_spawn(
      &pid, program.path.c_str(), &actions, &attributes,
      Pointers(program.words).data(),
      program.variables.empty() ? environ : Pointers(program.variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace feedmill
