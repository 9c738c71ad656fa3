/* sql/clocktiming--@version@.sql: generated from sql/src by `make generate`, do not edit */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

-- PostgreSQL resolves names in SQL bodies when it creates the function, in pg_catalog and in the
-- extension's schema, where other users may have created objects.  Therefore operands have the
-- types of pg_catalog's operators, polymorphic functions are qualified, and calls of clocktiming's
-- own functions pass all arguments.
