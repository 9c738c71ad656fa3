-- internal_clock_ends_in(): the remaining time in clock_activity, and its range
BEGIN;
SELECT * FROM no_plan();

CREATE TEMP TABLE ranges AS
    SELECT s, r, coalesce(substring(r FROM '\(([0-9]+) to')::float8, 0) * unit AS low,
           substring(r FROM '([0-9]+) [a-z]+\)?$')::float8 * unit AS high
    FROM (SELECT s, internal_clock_ends_in(1000 * s, greatest(500 * s - 500, 0), 2000 * s + 500)
                        AS r
          FROM (SELECT 0 AS s UNION ALL SELECT 1.01 ^ i / 1000 FROM generate_series(0, 2400) AS i)
              AS i) AS a
        LEFT JOIN (VALUES ('s', 1.0::float8), ('min', 60), ('h', 3600), ('d', 86400))
            AS u (name, unit) ON r ~ (' ' || name || '\)?$');
SELECT is(string_agg(DISTINCT r, '; '), NULL, 'each text has one of four forms') FROM ranges
    WHERE r !~ ('^([1-9][0-9]* (s|min|h|d) \(([1-9][0-9]*|up) to [1-9][0-9]* (s|min|h|d)\)|'
                'within [1-9][0-9]* (s|min|h|d)|more than a year)$');
SELECT is(string_agg(r || ' for ' || s, '; '), NULL, 'the printed estimate is in the printed range')
    FROM ranges
    WHERE NOT substring(r FROM '^([0-9]+) ')::float8
        BETWEEN coalesce(substring(r FROM '\(([0-9]+) ')::float8, 0)
            AND substring(r FROM 'to ([0-9]+) ')::float8;
SELECT is(string_agg(r || ' for ' || s, '; '), NULL,
    'the exact time is in the printed range') FROM ranges
    WHERE NOT s BETWEEN low AND high;
SELECT is(string_agg(r || ' for ' || s, '; '), NULL,
    'no range ends before the range of a shorter time')
    FROM (SELECT *, lag(high) OVER (ORDER BY s) AS before FROM ranges) AS s WHERE high < before;
SELECT is(string_agg(r || ' for ' || s, '; '), NULL,
    'from 120 s on, no range is wider than 4 times the remaining time') FROM ranges
    WHERE s >= 120 AND high - low > 4 * s;
SELECT is(count(*), 0::bigint,
    'only times above a year have the text "more than a year"') FROM ranges
    WHERE low IS NULL AND s < 366 * 86400.0 OR (r ~ 'year') <> (low IS NULL AND high IS NULL);
SELECT is(internal_clock_ends_in(NULL, NULL, NULL), NULL, 'an unknown time is NULL');
SELECT is(internal_clock_ends_in(10000, 5000, 20000), '10 s (5 to 20 s)', 'a range');
SELECT is(internal_clock_ends_in(7000, 5900, 8100), '7 s (5 to 9 s)', 'it is rounded outwards');
SELECT is(internal_clock_ends_in(4000, 0, 8000), '4 s (up to 8 s)', 'a range that begins at 0');
SELECT matches(internal_clock_ends_in(4000, 0, 1e300), '^within [0-9]+ d$', 'no overflow');

SELECT * FROM finish();
ROLLBACK;
