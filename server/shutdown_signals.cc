#include "server/shutdown_signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <semaphore.h>
#include <unistd.h>

namespace weft {
namespace {

// A signal handler reaches nothing but globals. (Blocking the signals and waiting for them with
// sigwait would need none, but libraries start threads before main that do not block them.)
std::atomic<bool> graceful{false};  // the next signal is the first
sem_t arrived;
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int signal) {
  if (!graceful.exchange(false)) _exit(128 + signal);
  sem_post(&arrived);
}

}  // namespace

void InstallShutdownSignals() {
  sem_init(&arrived, 0, 0);
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void DeferFirstShutdownSignal() { graceful = true; }

void WaitForShutdownSignal() {
  while (sem_wait(&arrived) != 0 && errno == EINTR) {
  }
}

}  // namespace weft
