-- clock_survey(): the stable parts of its result, and errors.
\set VERBOSITY terse
\set SHOW_CONTEXT never
-- on a slow machine, reports of progress would be printed
SET clocktiming.progress_interval = 0;

-- one row per source, in the order of the view
SELECT source FROM clock_survey(duration => 0.001);
SELECT array_agg(source) = (SELECT array_agg(source) FROM clock_sources) AS all_sources
FROM clock_survey('{all}', duration => 0.001);

-- the requested sources, each once, in the given order
SELECT source, judged_by FROM clock_survey('{time, SYSTEM, system, monotonic_raw, Time}',
    duration => 0.001);
SELECT source, judged_by FROM clock_survey('{monotonic_raw, times}', 0.001, 'system');
SELECT count(*) = (SELECT count(*) FROM clock_sources) AS all_of_them,
    count(DISTINCT source) = count(*) AS each_once
FROM clock_survey('{system, all}', duration => 0.001);

-- plain names
SELECT source FROM clock_survey('system', 0.001);
SELECT source FROM clock_survey('time, SYSTEM', 0.001);
SELECT count(*) = (SELECT count(*) FROM clock_sources) AS all_of_them
FROM clock_survey('all', 0.001);

-- if all clocks are requested, the reference clock itself is compared with the kernel's clock
SELECT source, judged_by FROM clock_survey(reference => 'Monotonic', duration => 0.001)
WHERE source IN ('monotonic', 'realtime');

-- properties that these clocks have on every machine
SELECT source, read_by = 'instruction' AS instruction, observed_ns = resolution_ns AS as_reported,
    observed_hz,
       strictly_monotonic
FROM clock_survey('{realtime_coarse, monotonic_coarse, gettimeofday, times, time}', duration => 1.2)
WHERE source NOT LIKE '%coarse';
SELECT source, resolution_ns, observed_ns, observed_hz, strictly_monotonic, fails, stalls,
    backward_steps, clock
FROM clock_survey('{system}', duration => 0.1);

-- invalid arguments
SELECT clock_survey(NULL);
SELECT clock_survey('{}');
SELECT clock_survey('{NULL}');
SELECT clock_survey('{system, NULL}');
SELECT clock_survey('{sundial}');
SELECT clock_survey('sundial');
SELECT clock_survey('');
SELECT clock_survey('{system');
SELECT clock_survey('{system, ""}');
SELECT clock_survey('{{system, time}, {system, rdtsc}}', duration => 0) IS NULL;
SELECT clock_survey(reference => NULL);
SELECT clock_survey(reference => 'sundial');
SELECT clock_survey('{system}', reference => 'system');
SELECT clock_survey('{system, MONOTONIC}', reference => 'monotonic');
\set VERBOSITY default
SELECT clock_survey('{system}', reference => 'realtime_coarse') /* 4 ms or 1 ms */ WHERE false;
SELECT clock_survey('{system}', reference => 'times');
SELECT clock_survey('{system}', reference => 'process_cputime');
\set VERBOSITY terse
SELECT clock_survey(duration => NULL);
SELECT clock_survey(duration => 0);
SELECT clock_survey(duration => 'NaN');
SELECT clock_survey(duration => 1e9);
