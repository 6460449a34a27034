// Named SQL: a common set, and per database only what differs (schemas/).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plimsoll {

class Statements {
 public:
  // schemas/SCHEMA/common.sql with schemas/SCHEMA/ENGINE.sql, where there is one, over it. Throws
  // UsageError when a statement of the engine's replaces none, or has other parameters than the one
  // it replaces.
  static Statements load(std::string_view schema, std::string_view engine);
  // `-- name: NAME` begins a statement; other lines that begin with `--` are comments.
  static Statements parse(std::string_view text);

  void override_with(const Statements& dialect, std::string_view dialect_name);
  // `{n}` in the statement becomes `n`. The name must exist (asserted: names are in the code).
  std::string sql(std::string_view name) const;
  std::string sql(std::string_view name, int n) const;
  const std::map<std::string, std::string, std::less<>>& all() const { return by_name_; }

 private:
  std::map<std::string, std::string, std::less<>> by_name_;
};

}  // namespace plimsoll
