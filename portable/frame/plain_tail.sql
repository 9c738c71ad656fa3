$clocktiming_script$, '@extschema@', target);

    -- The mark by which the next installation knows them.
    FOR f IN
        SELECT oid::regprocedure AS name, obj_description(oid, 'pg_proc') AS comment
        FROM pg_proc
        WHERE pronamespace = CASE target WHEN 'pg_temp' THEN pg_my_temp_schema() ELSE to_regnamespace(target) END
            AND oid <> ALL (before) AND proowner = current_user::regrole AND starts_with(proname, 'clock_')
    LOOP
        EXECUTE format('COMMENT ON ROUTINE %s IS %L', f.name, concat(f.comment, ' [clocktiming @version@]'));
    END LOOP;
    RAISE NOTICE 'clocktiming @version@ is installed in schema %', target USING
        DETAIL = CASE WHEN target = 'pg_temp' THEN 'It lasts as long as this session.' ELSE '' END,
        HINT = format('Begin with SELECT * FROM %s.clock_advice();', target);
    PERFORM pg_catalog.set_config(n, v, true) FROM pg_catalog.unnest(names, settings) AS s(n, v);
END
$clocktiming_install$;
