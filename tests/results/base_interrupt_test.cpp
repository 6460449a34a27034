#include "results/base/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "tests/catch.h"
#include "tests/lab/process.h"

using plimsoll::Interrupt;
namespace lab = plimsoll::lab;
using namespace std::chrono_literals;

namespace {

// The wait status of a child that does `work` and then ends with its result.
int status_of_child(const std::function<int()>& work) {
  int status = 0;
  waitpid(lab::fork_child(work), &status, 0);
  return status;
}

bool becomes_requested(const Interrupt& interrupt) {
  for (int wait = 0; wait < 5000 && !interrupt.requested(); ++wait) {
    std::this_thread::sleep_for(1ms);
  }
  return interrupt.requested();
}

}  // namespace

TEST_CASE("each of SIGINT, SIGTERM and SIGHUP requests the stop") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = status_of_child([signal] {
      Interrupt interrupt;
      if (interrupt.requested()) return 1;
      kill(getpid(), signal);
      return becomes_requested(interrupt) && interrupt.token().stop_requested() ? 0 : 2;
    });
    CHECK(status == 0);
  }
}

TEST_CASE("the third signal ends the process with 130 at once") {
  const int status = status_of_child([] {
    Interrupt interrupt;
    for (int times = 0; times < 3; ++times) {
      kill(getpid(), SIGINT);
      std::this_thread::sleep_for(20ms);  // a signal that is pending already would be merged
      if (!becomes_requested(interrupt)) return 1;
    }
    std::this_thread::sleep_for(5s);
    return 2;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("an interrupt that was never needed ends quietly and puts the signals back") {
  const int status = status_of_child([] {
    sigset_t mask;
    {
      Interrupt interrupt;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      if (sigismember(&mask, SIGINT) != 1) return 1;
    }
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (sigismember(&mask, SIGINT) != 0) return 2;
    kill(getpid(), SIGTERM);
    return 3;
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}
