#include "results/base/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include "results/base/error.h"

namespace plimsoll {
namespace {

constexpr int kSignalsToEndAtOnce = 3;

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

void watch(const std::stop_token& ended, std::stop_source source) {
  const sigset_t signals = watched_signals();
  for (int received = 1;; ++received) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (ended.stop_requested()) return;
    source.request_stop();
    if (received >= kSignalsToEndAtOnce) ::_exit(static_cast<int>(ExitCode::kInterrupted));
  }
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &previous_mask_);
  thread_ = std::jthread(watch, source_);
}

Interrupt::~Interrupt() {
  thread_.request_stop();
  // To that thread alone, only to end its wait.
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

}  // namespace plimsoll
