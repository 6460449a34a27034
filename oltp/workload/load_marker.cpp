#include "oltp/workload/load_marker.h"

#include <array>

namespace plimsoll {
namespace {

std::string_view state_name(bool done) {
  return done ? "done" : "loading";
}

}  // namespace

LoadMarkers::LoadMarkers(Session& session, const std::string& engine, std::string schema)
    : session_(session),
      statements_(Statements::load("load", engine)),
      schema_(std::move(schema)) {}

std::optional<LoadMarker> LoadMarkers::read(const DbTables& tables) {
  if (!tables.contains(kTable)) return std::nullopt;
  const std::array<DbView, 1> name = {std::string_view(schema_)};
  execute_or_throw(session_, statements_.sql("select_marker"), name);
  const DbRows& rows = session_.rows();
  if (rows.rows() == 0) return std::nullopt;
  return LoadMarker{std::get<std::string_view>(rows.at(0, 0)) == state_name(true),
                    std::string(std::get<std::string_view>(rows.at(0, 1))),
                    std::get<std::int64_t>(rows.at(0, 2)), std::get<std::int64_t>(rows.at(0, 3))};
}

void LoadMarkers::create(const std::string& parameters) {
  execute_or_throw(session_, statements_.sql("create_marker"));
  const std::array<DbView, 5> row = {std::string_view(schema_), state_name(false),
                                     std::string_view(parameters), std::int64_t{0},
                                     std::int64_t{0}};
  execute_or_throw(session_, statements_.sql("insert_marker"), row);
}

void LoadMarkers::update(const LoadMarker& marker) {
  if (!update_) update_ = session_.prepare(statements_.sql("update_marker"));
  const std::array<DbView, 4> row = {state_name(marker.done), marker.step, marker.step_rows,
                                     std::string_view(schema_)};
  require_ok(session_.execute(*update_, row), session_, "mark how far the load is");
}

void LoadMarkers::remove() {
  const std::array<DbView, 1> name = {std::string_view(schema_)};
  execute_or_throw(session_, statements_.sql("delete_marker"), name);
  execute_or_throw(session_, statements_.sql("count_markers"));
  if (std::get<std::int64_t>(session_.rows().at(0, 0)) == 0) {
    execute_or_throw(session_, statements_.sql("drop_marker"));
  }
}

}  // namespace plimsoll
