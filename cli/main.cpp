#include <fcntl.h>

#include "cli/program.h"

namespace {

// A standard stream that the caller closed is nothing, and stays so: a file that is opened later
// must not get its number, or what is printed would go into it. Writing to standard output then
// fails, which is noticed; what there is to say on standard error is lost.
void hold_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    if (::open("/dev/null", stream == 2 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  plimsoll::Interrupt interrupt;  // before all threads, so that they leave the signals to it
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(plimsoll::cli::run_program(arguments, interrupt));
}
