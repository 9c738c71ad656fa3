-- Query that returns everything that the catalogs contain about the extension, a row for each fact,
-- in any order. Facts contain no OIDs, so that facts of two databases can be compared.
WITH member AS MATERIALIZED (
    SELECT d.classid, d.objid, i.type || ' ' || i.identity AS name
    FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'clocktiming',
         LATERAL pg_identify_object(d.classid, d.objid, 0) i
    WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
), relation AS (
    SELECT m.name, c.* FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass
        AND c.oid = m.objid
    UNION ALL
    -- Composite types have a relation, too.
    SELECT m.name, c.* FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass
        AND t.oid = m.objid
    JOIN pg_class c ON c.oid = t.typrelid AND c.relkind = 'c'
), fact(name, fact) AS (
    SELECT name, 'member' FROM member
    UNION ALL
    SELECT m.name, CASE WHEN p.prokind = 'a' THEN (SELECT (to_jsonb(a)
        || jsonb_build_object('aggtranstype', a.aggtranstype::regtype))::text FROM pg_aggregate a
        WHERE a.aggfnoid = p.oid)
                        ELSE pg_get_functiondef(p.oid) END
    FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    UNION ALL
    SELECT m.name, format('%s may %s', CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE a.grantee::regrole::text END, a.privilege_type)
    FROM member m
    LEFT JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    LEFT JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
    LEFT JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid,
         LATERAL aclexplode(coalesce(p.proacl, c.relacl, t.typacl, CASE WHEN p.oid IS NOT NULL
             THEN acldefault('f', p.proowner) END)) a
    UNION ALL
    -- Privileges as the extension has set them. pg_dump does not dump these, because CREATE
    -- EXTENSION sets them again.
    SELECT m.name, format('at first %s may %s', CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE a.grantee::regrole::text END, a.privilege_type)
    FROM member m JOIN pg_init_privs i ON i.classoid = m.classid AND i.objoid = m.objid,
        LATERAL aclexplode(i.initprivs) a
    UNION ALL
    SELECT m.name, format('comment %s: %s', a.attname, d.description)
    FROM (SELECT name, classid, objid FROM member UNION SELECT name, 'pg_class'::regclass, oid
        FROM relation) m
    JOIN pg_description d ON d.classoid = m.classid AND d.objoid = m.objid
    LEFT JOIN pg_attribute a ON m.classid = 'pg_class'::regclass AND a.attrelid = m.objid
        AND a.attnum = d.objsubid AND a.attnum > 0
    UNION ALL
    SELECT r.name, format('column %s %s %s%s default %s', a.attnum, a.attname,
        format_type(a.atttypid, a.atttypmod),
                          CASE WHEN a.attnotnull THEN ' not null' END,
                              pg_get_expr(d.adbin, d.adrelid))
    FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0
        AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = r.oid AND d.adnum = a.attnum
    UNION ALL
    SELECT r.name, format('%s %s %s', r.relkind, r.reloptions, CASE r.relkind WHEN 'v'
        THEN pg_get_viewdef(r.oid) END) FROM relation r
    UNION ALL
    SELECT r.name, pg_get_constraintdef(c.oid) FROM relation r JOIN pg_constraint c ON c.conrelid =
        r.oid AND c.contype <> 'n'
    UNION ALL
    SELECT r.name, pg_get_indexdef(i.indexrelid) FROM relation r
        JOIN pg_index i ON i.indrelid = r.oid
    UNION ALL
    SELECT r.name, format('dumped where %L', e.extcondition[n])
    FROM pg_extension e, generate_subscripts(e.extconfig, 1) n, relation r
        WHERE e.extname = 'clocktiming' AND r.oid = e.extconfig[n]
    UNION ALL
    SELECT m.name, concat_ws(' ', t.typlen, t.typalign, t.typstorage, t.typinput, t.typoutput,
        t.typreceive, t.typsend, t.typcategory, t.typbasetype::regtype)
    FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
    UNION ALL
    SELECT m.name, concat_ws(' ', c.castfunc::regprocedure, c.castcontext, c.castmethod)
    FROM member m JOIN pg_cast c ON m.classid = 'pg_cast'::regclass AND c.oid = m.objid
    UNION ALL
    SELECT 'extension', format('%s %s', extversion, extrelocatable) FROM pg_extension
        WHERE extname = 'clocktiming'
)
SELECT name || ': ' || regexp_replace(fact, '\s+', ' ', 'g') FROM fact;
