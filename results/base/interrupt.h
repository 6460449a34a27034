// Ctrl-C and SIGTERM as a stop token, so that every phase ends by itself and keeps what it has.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace plimsoll {

// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and all it later starts, and waits for
// them in a thread of its own: the first requests the stop, the third ends the process at once
// (exit 130) for a user whose device hangs. Construct once, first thing in main. Programs that the
// process starts inherit the blocked signals: clear the mask between fork and exec. The destructor
// puts the calling thread's mask back.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool requested() const { return source_.stop_requested(); }

 private:
  std::stop_source source_;
  sigset_t previous_mask_;
  std::jthread thread_;
};

}  // namespace plimsoll
