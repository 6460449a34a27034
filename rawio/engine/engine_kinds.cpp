#include <fmt/format.h>

#include "rawio/engine/engines.h"
#include "results/base/error.h"

namespace plimsoll {

std::string_view operation_name(IoOperation operation) {
  switch (operation) {
    case IoOperation::kRead:
      return "read";
    case IoOperation::kWrite:
      return "write";
    case IoOperation::kFlush:
    case IoOperation::kDataFlush:
      return "flush";
    case IoOperation::kTrim:
      return "trim";
  }
  return "unknown";
}

const std::vector<EngineKind>& engine_kinds() {
  static const std::vector<EngineKind> kinds = {
#ifdef PLIMSOLL_IO_URING
      {"io_uring", "asynchronous, by shared rings", make_io_uring_engine},
#endif
#ifdef PLIMSOLL_LIBAIO
      {"libaio", "asynchronous, Linux native AIO", make_libaio_engine},
#endif
      {"psync", "one request a thread, pread and pwrite", make_psync_engine},
      {"null", "completes at once: what Plimsoll itself costs", make_null_engine},
  };
  return kinds;
}

std::unique_ptr<IoEngine> make_engine(std::string_view name) {
  std::string known;
  for (const auto& kind : engine_kinds()) {
    if (kind.name == name) return kind.make();
    known += known.empty() ? "" : ", ";
    known += kind.name;
  }
  throw UsageError(fmt::format("no engine \"{}\" here: --engine takes {}", name, known));
}

void check_depth(const char* engine, std::uint32_t depth, std::uint32_t max_depth) {
  if (depth >= 1 && depth <= max_depth) return;
  throw UsageError(fmt::format("depth {} with engine {}: it takes 1 to {}{}", depth, engine,
                               max_depth, max_depth == 1 ? "; use --jobs for more at once" : ""));
}

}  // namespace plimsoll
