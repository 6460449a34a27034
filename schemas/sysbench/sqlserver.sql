-- name: create_table
-- Generated ids begin beyond any table that is loaded. A sequence and no IDENTITY: rows are loaded
-- and inserted again under ids of their own, which IDENTITY takes from one table a session only.
CREATE SEQUENCE sbtest{n}_id AS INTEGER START WITH 1000000001 CACHE 1000;
CREATE TABLE sbtest{n} (
  id INTEGER NOT NULL DEFAULT (NEXT VALUE FOR sbtest{n}_id) PRIMARY KEY,
  k INTEGER DEFAULT 0 NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL
)

-- name: drop_table
DROP TABLE IF EXISTS sbtest{n};
DROP SEQUENCE IF EXISTS sbtest{n}_id
