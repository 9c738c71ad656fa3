/* sql/clocktiming--@version@.sql: generated from sql/src by `make generate`, do not edit */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

-- When PostgreSQL creates a function with an SQL body, it resolves names in pg_catalog and in the
-- extension's schema.  Other users may have created objects in that schema.  To resolve to none of
-- them, operands have exactly the types of pg_catalog's operators, polymorphic functions are
-- qualified, and calls of clocktiming's own functions pass all arguments.
