#include "results/base/version.h"

namespace plimsoll {

std::string version() {
  return PLIMSOLL_VERSION;
}

}  // namespace plimsoll
