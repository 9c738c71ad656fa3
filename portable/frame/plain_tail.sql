$clocktiming_script$, '@extschema@', schema);
    RAISE NOTICE 'clocktiming is installed in schema %: SELECT * FROM %.clock_summary()', schema, schema;
END
$clocktiming_install$;
