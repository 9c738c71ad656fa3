/* sql/clocktiming--@version@.sql: generated from sql/src by `make generate`, do not edit */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION clocktiming" to load this file. \quit

-- Security: while this script runs, PostgreSQL resolves the names in function bodies in pg_catalog
-- and in the extension's schema.  Other users may have created operators and functions in that
-- schema, and one of them is used if its argument types match better.  Therefore in all function
-- bodies below:
-- * operands have exactly the types of an operator in pg_catalog, if necessary by a cast;
-- * polymorphic functions of pg_catalog are schema-qualified;
-- * calls of clocktiming's own functions pass all arguments.
