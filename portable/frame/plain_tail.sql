$clocktiming_script$, '@extschema@', target);
    EXCEPTION
        WHEN dependent_objects_still_exist THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
            RAISE EXCEPTION USING ERRCODE = SQLSTATE, DETAIL = detail,
                MESSAGE = format('clocktiming in schema %s cannot be replaced, because other '
                                 'objects depend on it', target),
                HINT = 'Drop these, run this again, and create them anew.';
        WHEN duplicate_function THEN
            RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM,
                DETAIL = format('In schema %s, and it is none of clocktiming''s.', target),
                HINT = 'Install into another schema, or rename it.';
    END;

    -- Adds a mark to the functions' comments, by which the next installation finds and drops them.
    FOR f IN
        SELECT oid::regprocedure AS name, obj_description(oid, 'pg_proc') AS comment
        FROM pg_proc
        WHERE pronamespace = COALESCE(to_regnamespace(target), pg_my_temp_schema())
            AND oid <> ALL (before)
            AND proowner = current_user::regrole AND proname ~ '^(internal_)?clock_'
    LOOP
        EXECUTE format('COMMENT ON ROUTINE %s IS %L', f.name,
                       concat(f.comment, ' [clocktiming @version@]'));
    END LOOP;
    RAISE NOTICE 'clocktiming @version@ is installed in schema %',
        target || CASE target WHEN 'pg_temp' THEN ', for this session only' ELSE '' END
        USING HINT = format('Begin with SELECT * FROM %s.clock_advice();', target);
    PERFORM set_config(names[i], settings[i], true) FROM generate_series(1, 3) AS i;
END
$clocktiming_install$;
