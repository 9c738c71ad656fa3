$clocktiming_script$;
    -- An update drops the old functions, because it may change their result types.
    drop_former constant text := $clocktiming_drop$
DO LANGUAGE plpgsql $$
BEGIN
    EXECUTE (
        SELECT 'DROP ROUTINE '
            || pg_catalog.string_agg(d.objid::pg_catalog.regprocedure::pg_catalog.text, ', ')
        FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_extension AS e ON d.refobjid = e.oid
        WHERE e.extname = 'clocktiming'
            AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
            AND d.deptype = 'e' AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass);
END
$$;
$clocktiming_drop$;
BEGIN
    IF pg_catalog.to_regnamespace('pgtle') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'pg_tle is not installed in this database',
            HINT = 'Try CREATE EXTENSION pg_tle; or without pg_tle, the file '
                   'portable/clocktiming.sql.';
    END IF;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT extversion, quote_ident(nspname) INTO used, used_in
        FROM pg_extension AS e JOIN pg_namespace AS n ON e.extnamespace = n.oid
        WHERE extname = 'clocktiming';

    IF used <> version THEN
        IF NOT EXISTS (SELECT FROM pgtle.available_extension_versions() AS v
                       WHERE v.name = 'clocktiming' AND v.version = '@version@') THEN
            PERFORM pgtle.install_extension_version_sql('clocktiming', version, script);
            PERFORM pgtle.install_update_path('clocktiming', used, version, drop_former || script);
            PERFORM pgtle.set_default_version('clocktiming', version);
        END IF;
        RAISE NOTICE 'clocktiming % can be updated to %', used, version
            USING HINT = 'ALTER EXTENSION clocktiming UPDATE;';
    ELSE
        IF used IS NOT NULL THEN
            DROP EXTENSION clocktiming;
        END IF;
        PERFORM pgtle.uninstall_extension_if_exists('clocktiming');
        PERFORM pgtle.install_extension('clocktiming', version, comment, script);
        IF used IS NOT NULL THEN
            EXECUTE 'CREATE EXTENSION clocktiming SCHEMA ' || used_in;
            RAISE NOTICE 'clocktiming % has been replaced in schema %', version, used_in;
        ELSE
            RAISE NOTICE 'clocktiming % can be installed', version USING
                HINT = 'CREATE SCHEMA clock; CREATE EXTENSION clocktiming SCHEMA clock;';
        END IF;
    END IF;
    PERFORM set_config('search_path', path, true);
END
$clocktiming_install$;
