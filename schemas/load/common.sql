-- What a load leaves behind of itself, so that a half-loaded database is known for what it is. One
-- row a schema ("sysbench"); `step` and `step_rows` say how far it got.

-- name: create_marker
CREATE TABLE IF NOT EXISTS plimsoll_load (
  name VARCHAR(40) NOT NULL PRIMARY KEY,
  state VARCHAR(10) NOT NULL,
  parameters VARCHAR(1000) NOT NULL,
  step BIGINT NOT NULL,
  step_rows BIGINT NOT NULL
)

-- name: drop_marker
DROP TABLE IF EXISTS plimsoll_load

-- name: select_marker
SELECT state, parameters, step, step_rows FROM plimsoll_load WHERE name = ?

-- name: insert_marker
INSERT INTO plimsoll_load (name, state, parameters, step, step_rows) VALUES (?, ?, ?, ?, ?)

-- name: update_marker
UPDATE plimsoll_load SET state = ?, step = ?, step_rows = ? WHERE name = ?

-- name: delete_marker
DELETE FROM plimsoll_load WHERE name = ?

-- name: count_markers
SELECT COUNT(*) FROM plimsoll_load
