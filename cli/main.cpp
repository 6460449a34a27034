#include "cli/program.h"

int main(int argc, char** argv) {
  plimsoll::Interrupt interrupt;  // first, so that every later thread leaves the signals to it
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(plimsoll::cli::run_program(arguments, interrupt));
}
