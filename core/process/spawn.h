#ifndef FEEDMILL_CORE_PROCESS_SPAWN_H_
#define FEEDMILL_CORE_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace feedmill {

// A program to start, with no signal blocked.
struct SpawnOptions {
  std::string path;
  std::vector<std::string> words;      // its name and arguments
  std::vector<std::string> variables;  // "NAME=value"; empty: of this process
  // Descriptors of this process that the program gets as 0, 1, …; -1 for one
  // that is at its end.
  std::vector<int> fds;
  bool own_group = true;  // in a process group of its own
};

// Starts it and sets `pid`. Returns 0, or an errno.
int Spawn(SpawnOptions program, pid_t& pid);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_SPAWN_H_
