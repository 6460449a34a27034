-- The tables and statements of the sysbench OLTP workloads. `{n}` is the table's number; `?` are
-- parameters. A database's own file beside this one replaces a statement by its name.

-- name: create_table
CREATE TABLE sbtest{n} (
  id INTEGER NOT NULL PRIMARY KEY,
  k INTEGER DEFAULT 0 NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL
)

-- name: create_index
CREATE INDEX k_{n} ON sbtest{n} (k)

-- name: drop_table
DROP TABLE IF EXISTS sbtest{n}

-- name: point_select
SELECT c FROM sbtest{n} WHERE id = ?

-- name: simple_range
SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ?

-- name: sum_range
SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN ? AND ?

-- name: order_range
SELECT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c

-- name: distinct_range
SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN ? AND ? ORDER BY c

-- name: update_index
UPDATE sbtest{n} SET k = k + 1 WHERE id = ?

-- name: update_non_index
UPDATE sbtest{n} SET c = ? WHERE id = ?

-- name: delete
DELETE FROM sbtest{n} WHERE id = ?

-- name: insert
INSERT INTO sbtest{n} (id, k, c, pad) VALUES (?, ?, ?, ?)

-- name: insert_next
INSERT INTO sbtest{n} (k, c, pad) VALUES (?, ?, ?)
