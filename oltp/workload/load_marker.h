// The row that says how far a load got, in the database itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "oltp/database/database.h"
#include "oltp/database/statements.h"

namespace plimsoll {

struct LoadMarker {
  bool done = false;
  std::string parameters;      // what was asked, as JSON
  std::int64_t step = 0;       // of the schema's own steps, those that are complete
  std::int64_t step_rows = 0;  // rows committed of the step in progress
};

// In table plimsoll_load, a row a schema. All throw BrokenError. Writes belong into the transaction
// that loads the rows they speak of.
class LoadMarkers {
 public:
  static constexpr const char* kTable = "plimsoll_load";

  LoadMarkers(Session& session, const std::string& engine, std::string schema);
  // `tables` as the database has them; empty when this schema was never loaded by Plimsoll.
  std::optional<LoadMarker> read(const DbTables& tables);
  void create(const std::string& parameters);
  void update(const LoadMarker& marker);
  // Removes the row, and the table with its last row.
  void remove();

 private:
  Session& session_;
  Statements statements_;
  std::string schema_;
  std::optional<StatementId> update_;
};

}  // namespace plimsoll
