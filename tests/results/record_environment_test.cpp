#include "results/record/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "tests/catch.h"

namespace plimsoll {
namespace {

TEST_CASE("environment: what it says is what the system says") {
  const auto machine = capture_machine();
  utsname names{};
  REQUIRE(::uname(&names) == 0);
  CHECK(machine["kernel"]["release"] == names.release);
  CHECK(machine["cpu"]["online"] == ::sysconf(_SC_NPROCESSORS_ONLN));
  const auto memory_bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  CHECK(machine["memory_bytes"].get<double>() == Approx(memory_bytes).epsilon(0.01));
  CHECK(machine["os"].is_string());
  CHECK(machine["clocksource"].is_string());
  REQUIRE(machine["load_average"].size() == 3);
  CHECK(machine["load_average"][0].get<double>() >= 0);
  CHECK(machine["user_id"] == ::geteuid());
}

}  // namespace
}  // namespace plimsoll
