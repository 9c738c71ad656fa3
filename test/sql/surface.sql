-- Objects of the extension: names, arguments, results, volatility, parallel safety, privileges, and
-- a comment for each.
\set VERBOSITY terse

\pset format unaligned
SELECT p.proname AS name, pg_get_function_arguments(p.oid) AS arguments
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
    AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming'
ORDER BY p.proname COLLATE "C", pg_get_function_arguments(p.oid) COLLATE "C";
\pset format aligned

SELECT p.oid::regprocedure AS function, p.provolatile AS vol, p.proparallel AS par,
       has_function_privilege('pg_monitor', p.oid, 'EXECUTE') AS monitor,
       coalesce(bool_or(a.grantee = 0), p.proacl IS NULL) AS everybody,
       obj_description(p.oid, 'pg_proc') IS NOT NULL AS described
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
    AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming'
LEFT JOIN LATERAL aclexplode(p.proacl) a ON a.grantee = 0
GROUP BY p.oid, p.provolatile, p.proparallel, p.proacl
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- views and types
SELECT c.relname, c.relkind, obj_description(c.oid, 'pg_class') IS NOT NULL
           OR obj_description(c.reltype, 'pg_type') IS NOT NULL AS described,
       CASE c.relkind WHEN 'v' THEN has_table_privilege('pg_monitor', c.oid, 'SELECT') END
           AS monitor,
       (SELECT bool_or(a.grantee = 0) FROM aclexplode(c.relacl) a) AS everybody
FROM pg_class c
WHERE c.relname ~ '^clock_'
ORDER BY c.relname COLLATE "C";

-- every object's name begins with clock_, or with internal_clock_ if only other objects use it;
-- casts have no name, and operators have usual ones
SELECT count(*) > 15 AS many, bool_and(i.identity ~ '^(public\.)?(internal_)?clock_') FILTER
    (WHERE i.type NOT IN ('cast', 'operator')) AS all_begin_with_clock
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming',
     LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) i
WHERE d.deptype = 'e';

-- limits on the numbers of functions (\df clock_*), views (\dv clock_*) and visible settings
SELECT count(DISTINCT p.proname) <= 41 AS functions, count(DISTINCT c.relname) FILTER
    (WHERE c.relkind = 'v') <= 10 AS views,
       (SELECT count(*) FROM pg_settings WHERE name LIKE 'clocktiming.%') <= 10 AS settings
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming'
    AND d.deptype = 'e'
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
    AND p.proname LIKE 'clock\_%'
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
    AND c.relname LIKE 'clock\_%';

-- descriptions of all objects, including each column of a view and attribute of a type
CREATE TEMP VIEW described AS
SELECT i.identity, c.description
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming'
    AND d.deptype = 'e'
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
LEFT JOIN pg_class r ON r.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid
    ELSE t.typrelid END
LEFT JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped,
     LATERAL (SELECT d.classid, d.objid, 0 AS sub UNION SELECT 'pg_class'::regclass, r.oid, a.attnum
         WHERE a.attnum > 0) o
LEFT JOIN pg_description c ON c.classoid = o.classid AND c.objoid = o.objid AND c.objsubid = o.sub,
     LATERAL pg_identify_object(o.classid, o.objid, o.sub) i
-- an array type comes with its element type, and a view's row type with the view
WHERE (t.typelem IS NULL OR t.typelem = 0 OR t.typlen <> -1)
    AND (t.typrelid IS NULL OR t.typrelid = 0 OR r.relkind = 'c')
GROUP BY i.identity, c.description;
SELECT count(*) > 30 AS many FROM described;
-- objects without a comment: no rows
SELECT identity AS without_comment FROM described WHERE description IS NULL
    ORDER BY identity COLLATE "C";
-- each comment is understandable by itself, on one line: no rows
SELECT identity, description FROM described
WHERE description ~
    '\n|\.$|^the same|the same,|^[[:upper:]][[:lower:]]|^(the )?rows of|^(as|like|see) '
ORDER BY identity COLLATE "C";

-- no reserved word is the name of an argument or a column, but for clock_trust("from", "to"):
-- no rows
SELECT DISTINCT k.word AS reserved
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming'
    AND d.deptype = 'e'
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
LEFT JOIN pg_attribute a ON a.attrelid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid
    ELSE t.typrelid END
JOIN pg_get_keywords() k ON k.word = a.attname OR k.word = ANY (p.proargnames)
WHERE k.catcode = 'R' AND p.proname IS DISTINCT FROM 'clock_trust';

-- type clock_sample, its casts, and the columns of a row type and of views
SELECT typname, typstorage, typalign, typlen, obj_description(oid, 'pg_type') IS NOT NULL
    AS described
FROM pg_type WHERE typname = 'clock_sample';
SELECT c.castsource::regtype AS source, c.casttarget::regtype AS target, c.castcontext AS context,
    obj_description(c.oid, 'pg_cast') IS NOT NULL AS described
FROM pg_cast c WHERE 'clock_sample'::regtype IN (c.castsource, c.casttarget) ORDER BY 1, 2;
SELECT a.attname AS clock_summary_row, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_attribute a WHERE a.attrelid = 'clock_summary_row'::regclass ORDER BY a.attnum;
SELECT a.attrelid::regclass AS view, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_attribute a WHERE a.attrelid IN ('clock_sources'::regclass, 'clock_platform'::regclass)
ORDER BY a.attrelid::regclass::text COLLATE "C", a.attnum;

-- each attribute of a row type has a comment
SELECT count(*) AS attributes, count(col_description(attrelid, attnum)) AS described
FROM pg_attribute WHERE attrelid = 'clock_summary_row'::regclass AND attnum > 0;

-- the README's list of clocks fits 100 columns
SELECT max(length(source)) + max(length(description)) <= 82 AS fits FROM clock_sources;

-- settings, which exist when the library is loaded
SELECT count(*) > 4 AS many FROM clock_sources;
SHOW clocktiming.progress_interval;
SET clocktiming.progress_interval = '2s';
SHOW clocktiming.progress_interval;
-- error codes only, because the messages differ between versions
\set VERBOSITY sqlstate
SET clocktiming.progress_interval = -1;
SET clocktiming.no_such_setting = 1;
\set VERBOSITY terse
RESET clocktiming.progress_interval;
SHOW clocktiming.progress_interval;

-- a misspelt name: the hint begins with the intended one
CREATE FUNCTION pg_temp.hint(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    PERFORM clock_summary(source, 0.001);
    RETURN NULL;
EXCEPTION WHEN invalid_parameter_value THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN regexp_replace(hint, 'are system, .*, time\.', 'are system, ..., time.');
END $$;
SELECT n AS name, pg_temp.hint(n) AS hint
FROM unnest('{rtdsc,RDTSCPP,systen,monotonic-raw,real_time,instr,tsc,xy,"",sundial}'::text[]) WITH
    ORDINALITY AS v(n, i)
ORDER BY i;
SELECT pg_temp.hint(repeat('rdtsc', 1000000)) AS too_long;

-- the extension can be moved, dropped and created again, in a database of its own
\set regression :DBNAME
CREATE DATABASE regress_clock_surface;
\c regress_clock_surface
CREATE EXTENSION clocktiming;
CREATE SCHEMA elsewhere;
ALTER EXTENSION clocktiming SET SCHEMA elsewhere;
SELECT count(*) > 4 AS many FROM elsewhere.clock_sources;
SELECT readings > 0 AS has_readings FROM elsewhere.clock_summary('system', 0.001);
ALTER EXTENSION clocktiming SET SCHEMA public;
DROP SCHEMA elsewhere;
DROP EXTENSION clocktiming;
CREATE EXTENSION clocktiming;
\c :regression
DROP DATABASE regress_clock_surface;
