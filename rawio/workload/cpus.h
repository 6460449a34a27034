// On which processors a run's threads stay.
#pragma once

#include <string>
#include <vector>

#include "rawio/device/sysfs.h"

namespace plimsoll {

// "0,2-5" as the kernel and taskset write it, ascending, each once. Throws UsageError.
std::vector<int> parse_cpu_list(const std::string& text);

// Those this process may run on.
std::vector<int> allowed_cpus();

// Those of a NUMA node that this process may run on; empty when the machine has but one node, or
// the node is not known.
std::vector<int> cpus_of_node(int node, const SystemRoots& roots = {});

// Keeps the calling thread on these. Throws UsageError when that can't be (naming those it may run
// on).
void keep_thread_on(const std::vector<int>& cpus);

}  // namespace plimsoll
