#include "cli/command.h"

namespace plimsoll::cli {

// In the order --help lists them.
const std::vector<CommandRow>& command_rows() {
  static const std::vector<CommandRow> rows = {
      {setup_qualify}, {setup_devices}, {setup_doctor}, {setup_raw},    {setup_commit},
      {setup_observe}, {setup_oltp},    {setup_show},   {setup_report}, {setup_export},
  };
  return rows;
}

}  // namespace plimsoll::cli
