// The pause container of each pod: holds the pod's namespaces and reaps orphans.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void Stop(int signal) { _exit(signal == SIGTERM ? 0 : 1); }

static void Reap(int signal) {
  (void)signal;
  while (waitpid(-1, 0, WNOHANG) > 0) continue;
}

int main(void) {
  signal(SIGTERM, Stop);
  signal(SIGINT, Stop);
  signal(SIGCHLD, Reap);
  for (;;) pause();
}
