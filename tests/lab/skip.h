// A test that this machine can't run says so by name.
#pragma once

#include <cstdio>
#include <string>

#include "tests/catch.h"

namespace plimsoll::lab {

// In a test case: `if (!feature) return skip("why");`. Prints "SKIPPED: <test>: <why>".
inline void skip(const std::string& why) {
  const std::string name(Catch::getResultCapture().getCurrentTestName());
  std::printf("SKIPPED: %s: %s\n", name.c_str(), why.c_str());
  std::fflush(stdout);
}

}  // namespace plimsoll::lab
