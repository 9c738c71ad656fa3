--
-- Line breaks in texts of clock_advice() and clock_impact(), and the summary of all checks.  The C
-- extension includes this file.
--

-- Breaks a text into lines between words.  Breaks a word only if it is longer than a line.  Does
-- not break commands, which are enclosed in backquotes, and removes the backquotes.
CREATE FUNCTION @extschema@.internal_clock_lines(t text, width int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
    SELECT translate(rtrim(regexp_replace(
               string_agg(CASE WHEN p.n % 2 = 0 THEN translate(p.part, ' ', chr(1))
                               ELSE regexp_replace(p.part, format('(\S{%s})(?=\S)', width),
                                                   '\1 ', 'g') END,
                          '' ORDER BY p.n),
               format('(\S{%s,}|.{1,%1$s})( +|$)', width), E'\\1\n', 'g'), E'\n'), chr(1), ' ')
    FROM regexp_split_to_table(t, '`') WITH ORDINALITY AS p(part, n)
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_lines(text, int) IS
    'internal: breaks a text into lines of a number of columns';

-- Summarizes all checks in one row.  The severity of a check is null if SQL alone cannot decide it.
CREATE FUNCTION @extschema@.internal_clock_overall(found jsonb[], all_right text) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $body$
    SELECT jsonb_build_object('check_name', 'overall',
        'severity', CASE WHEN c.warnings > 0 THEN 'warning'
                         WHEN c.notices > c.gaps THEN 'notice' ELSE 'ok' END,
        'finding', CASE WHEN c.warnings > 0
                        THEN format('%s warning%s', c.warnings,
                                    CASE WHEN c.warnings > 1 THEN 's' END)
                             || CASE WHEN c.notices > 0 THEN ' and ' ELSE '' END
                        ELSE all_right || coalesce(' (unknown: ' || c.unknown || ')', '')
                             || CASE WHEN c.notices > 0 THEN ', with ' ELSE '' END END
                   || CASE WHEN c.notices > 0
                           THEN format('%s notice%s', c.notices,
                                       CASE WHEN c.notices > 1 THEN 's' END)
                           ELSE '' END
                   || coalesce(': ' || c.names, ''))
    FROM (SELECT count(*) FILTER (WHERE s ->> 'severity' = 'warning') AS warnings,
                 count(*) FILTER (WHERE s ->> 'severity' = 'notice') AS notices,
                 -- gaps are not a fault of the clock, so they do not change the verdict
                 count(*) FILTER (WHERE s ->> 'severity' = 'notice'
                                        AND s ->> 'check_name' = 'gaps') AS gaps,
                 string_agg(s ->> 'check_name', ', ' ORDER BY s ->> 'severity' DESC, n)
                     FILTER (WHERE s ->> 'severity' <> 'ok') AS names,
                 string_agg(s ->> 'check_name', ', ' ORDER BY n)
                     FILTER (WHERE s ->> 'severity' IS NULL) AS unknown
          FROM unnest(found) WITH ORDINALITY AS u(s, n)) AS c
$body$;
COMMENT ON FUNCTION @extschema@.internal_clock_overall(jsonb[], text) IS
    'internal: returns the row of clock_advice() that summarizes the others';
