-- name: create_marker
IF OBJECT_ID('plimsoll_load', 'U') IS NULL
CREATE TABLE plimsoll_load (
  name VARCHAR(40) NOT NULL PRIMARY KEY,
  state VARCHAR(10) NOT NULL,
  parameters VARCHAR(1000) NOT NULL,
  step BIGINT NOT NULL,
  step_rows BIGINT NOT NULL
)
