-- clock_page() returns an HTML page about the clocks, which is built by a single query.

-- Classes of the page's style sheet:
--   .v            verdict; .ok, .bad and .unk choose its colour
--   .plot         chart: path .g grid, .b band from minimum to maximum, .w line of means, .e
--                 periods of events; .m mark of an event, .x and .y labels of the axes
--   .key, .k      legend of a chart, and the symbol in it that stands for an event
--   .n            table of numbers; .t is a cell of text in it
--   .h            histogram
--   .ev           table of events
--   .sr           text for screen readers only
CREATE FUNCTION clock_page() RETURNS text
LANGUAGE SQL VOLATILE PARALLEL UNSAFE SET extra_float_digits = 1 SET intervalstyle = postgres
BEGIN ATOMIC
WITH knows AS MATERIALIZED (
    SELECT k.watched, k.plans FROM internal_clock_page_sources() k
), history AS MATERIALIZED (
    -- If the clocks are not watched, a call of clock_history() raises an error.  The condition
    -- k.watched prevents the call: it uses no column of clock_history, so PostgreSQL evaluates it
    -- first, and does not scan the function if it is false.
    SELECT h.* FROM clock_history h WHERE (SELECT k.watched FROM knows k) AND h.at <= now()
), latest AS MATERIALIZED (
    SELECT h.* FROM history h WHERE h.per = 'minute' ORDER BY h.at DESC LIMIT 1
), trust AS MATERIALIZED (
    SELECT t.* FROM clock_trust(now() - interval '1 day', now()) t
    WHERE (SELECT k.watched FROM knows k)
), events AS MATERIALIZED (
    SELECT e.*, row_number() OVER (ORDER BY e.at DESC) AS no
    FROM clock_events e WHERE (SELECT k.watched FROM knows k)
),

-- Charts of the cost of a warm reading.  A chart shows a span of time ("spans"), divided into
-- buckets.  x is a bucket's number, y is in percent of the chart's height, from the top.
spans AS MATERIALIZED (
    SELECT s.*, now() - s.length AS began
    FROM (VALUES (1, 'last day', 'minute', interval '1 day', 288.0, 300.0, '5 minutes', 'day',
                  interval '6 hours'),
                 (2, 'last 400 days', 'hour', interval '400 days', 400.0, 86400.0, 'day', 'year',
                  interval '3 months'))
         AS s(span, title, per, length, buckets, bucket_s, bucket, labels_from, labels_every)
), buckets AS MATERIALIZED (
    SELECT s.span, floor(extract(epoch FROM h.at - s.began) / s.bucket_s) AS x,
           min(h.warm_ns)::numeric AS low, avg(h.warm_ns)::numeric AS mean,
           max(h.warm_ns)::numeric AS high
    FROM spans s JOIN history h ON h.per = s.per AND h.at >= s.began
    GROUP BY 1, 2
), scales AS MATERIALIZED (
    SELECT t.span, t.step, t.step * ceil(t.most / t.step) AS top
    FROM (SELECT p.span, p.most,
                 p.power * CASE WHEN p.most / p.power <= 3.0 THEN 1.0
                                WHEN p.most / p.power <= 6.0 THEN 2.0
                                WHEN p.most / p.power <= 15.0 THEN 5.0 ELSE 10.0 END AS step
          FROM (SELECT m.*, power(10.0, floor(log(m.most / 3.0))) AS power
                FROM (SELECT b.span, greatest(max(b.high), 1.0) AS most
                      FROM buckets b GROUP BY b.span) m) p) t
), points AS MATERIALIZED (
    SELECT b.span, b.x, round(100.0 - 100.0 * b.mean / s.top, 1) AS y,
           round(100.0 - 100.0 * b.low / s.top, 1) AS y_low,
           round(100.0 - 100.0 * b.high / s.top, 1) AS y_high,
           coalesce(pg_catalog.lag(b.x) OVER (PARTITION BY b.span ORDER BY b.x) = b.x - 1.0,
                    false) AS goes_on
    FROM buckets b JOIN scales s ON s.span = b.span
    WHERE b.mean IS NOT NULL
), lines AS (
    SELECT p.span,
           string_agg(pg_catalog.concat(CASE WHEN p.goes_on THEN 'L' ELSE 'M' END, p.x, ' ', p.y,
                                        CASE WHEN NOT p.goes_on THEN 'h0' END),
                      '' ORDER BY p.x) AS mean,
           string_agg(pg_catalog.concat('M', p.x, ' ', p.y_high, 'V', p.y_low), '' ORDER BY p.x)
               FILTER (WHERE p.y_high < p.y_low) AS band
    FROM points p
    GROUP BY p.span
), happened AS MATERIALIZED (
    SELECT s.span, s.buckets, e.*,
           greatest(0.0, extract(epoch FROM e.at - s.began) / s.bucket_s) AS x,
           extract(epoch FROM coalesce(e.ended_at, now()) - s.began) / s.bucket_s AS x_end
    FROM spans s JOIN events e ON coalesce(e.ended_at, now()) >= s.began AND e.at <= now()
), spells AS (
    SELECT s.span,
           string_agg(pg_catalog.concat('M', s.x, ' 0h', s.width, 'v100H', s.x, 'z'),
                      '' ORDER BY s.x) AS path
    FROM (SELECT h.span, round(h.x, 1) AS x,
                 round(greatest(max(h.x_end - h.x), 0.2), 1) AS width
          FROM happened h GROUP BY 1, 2) s
    GROUP BY s.span
), marks AS (
    -- Merges the events in each thirtieth of the chart's width into one mark, so that marks do not
    -- overlap.
    SELECT m.span,
           string_agg(pg_catalog.format('<a class="m" href="#%s" style="left:%s%%" title="%s">'
                                        '<span aria-hidden="true">&#9660;</span></a>',
                                        CASE WHEN m.no <= 50::bigint THEN 'e' || m.no::text
                                             ELSE 'events' END,
                                        m.percent, internal_clock_page_escape(m.title)),
                      '' ORDER BY m.percent) AS html
    FROM (SELECT h.span, min(h.no) AS no, round(min(100.0 * h.x / h.buckets), 1) AS percent,
                 pg_catalog.concat(to_char(min(h.at), 'YYYY-MM-DD HH24:MI'), ' ',
                                   string_agg(DISTINCT h.what, ', ')) AS title
          FROM happened h
          GROUP BY h.span, floor(30.0 * h.x / h.buckets)) m
    GROUP BY m.span
), charts AS (
    SELECT string_agg(pg_catalog.concat(
        '<figure><figcaption id="c', s.span, '"><h3>Cost of a warm reading, ', s.title,
        ', in nanoseconds</h3><ul class="key">',
        '<li><svg viewBox="0 0 24 8"><path class="b" d="M12 0V8" style="stroke-width:24"/>'
        '<path class="w" d="M0 4h24"/></svg> mean of each ', s.bucket,
        ', and range from minimum to maximum</li><li><span class="k">&#9660;</span> event; its '
        'duration is shaded</li></ul></figcaption>',
        '<div class="plot"><svg viewBox="0 0 ', s.buckets, ' 100" preserveAspectRatio="none" '
        'role="img" aria-labelledby="c', s.span, '">',
        '<path class="g" d="',
        (SELECT string_agg(pg_catalog.concat('M0 ', round(100.0 - 100.0 * ns / c.top, 1), 'H',
                                             s.buckets), '')
         FROM generate_series(c.step, c.top, c.step) ns),
        '"/><path class="e" d="', (SELECT p.path FROM spells p WHERE p.span = s.span),
        '"/><g transform="translate(.5)"><path class="b" d="', l.band,
        '"/><path class="w" d="', l.mean, '"/></g></svg>',
        (SELECT m.html FROM marks m WHERE m.span = s.span),
        (SELECT string_agg(pg_catalog.format('<span class="y" style="bottom:%s%%">%s</span>',
                                             round(100.0 * ns / c.top, 1), trim_scale(ns)), '')
         FROM generate_series(0.0, c.top, c.step) ns),
        (SELECT string_agg(pg_catalog.format('<span class="x" style="left:%s%%">%s</span>',
                                             x.percent, x.label), '')
         FROM (SELECT round(100.0 * extract(epoch FROM t - s.began) / (s.buckets * s.bucket_s), 1)
                          AS percent,
                      CASE WHEN s.span = 2 THEN to_char(t, 'Mon YYYY')
                           WHEN t = date_trunc('day', t) THEN to_char(t, 'DD Mon')
                           ELSE to_char(t, 'HH24:MI') END AS label
               FROM generate_series(date_trunc(s.labels_from, s.began), now(), s.labels_every) t) x
         WHERE x.percent BETWEEN 4.0 AND 96.0),
        '</div></figure>'), '' ORDER BY s.span) AS html
    FROM spans s JOIN scales c ON c.span = s.span LEFT JOIN lines l ON l.span = s.span
),

-- Table of minima, maxima and totals, with a column for each span
totals AS (
    SELECT s.span, v.no, v.label, v.value
    FROM spans s, LATERAL (
        SELECT sum(h.watched_s) AS watched_s, sum(h.backward_steps) AS backward_steps,
               sum(h.warps) AS warps, sum(h.lags) AS lags,
               min(h.warm_ns) AS least_warm, max(h.warm_ns) AS most_warm,
               min(h.cold_ns) AS least_cold, max(h.cold_ns) AS most_cold,
               min(h.rate_ppm) AS least_rate, max(h.rate_ppm) AS most_rate,
               max(h.stolen_percent) AS stolen, max(h.off_cpu_percent) AS off_cpu,
               max(h.sync_error_us) AS sync_error
        FROM history h WHERE h.per = s.per AND h.at >= s.began) h, LATERAL (VALUES
        (1, 'watched, hours', round(h.watched_s::numeric / 3600.0, 2)::text),
        (2, 'cost of a warm reading, ns',
         h.least_warm::text || coalesce(' to ' || nullif(h.most_warm, h.least_warm)::text, '')),
        (3, 'cost of a cold reading, ns',
         h.least_cold::text || coalesce(' to ' || nullif(h.most_cold, h.least_cold)::text, '')),
        (4, 'faster than the kernel&#8217;s clock, ppm',
         h.least_rate::text || coalesce(' to ' || nullif(h.most_rate, h.least_rate)::text, '')),
        (5, 'backward steps', h.backward_steps::text),
        (6, 'warps: jumps ahead', h.warps::text),
        (7, 'lags: falls behind the reference', h.lags::text),
        (8, 'CPU time stolen by the hypervisor, maximum, %', h.stolen::text),
        (9, 'lost to other processes or a CPU limit during observations, maximum, %',
         h.off_cpu::text),
        (10, 'bound of the synchronisation error, maximum, &#181;s', h.sync_error::text))
        v(no, label, value)
), figures AS (
    SELECT string_agg(r.html, '' ORDER BY r.no) AS html
    FROM (SELECT t.no,
                 pg_catalog.format('<tr><th scope="row">%s</th>%s</tr>', t.label,
                                   string_agg('<td>' || internal_clock_page_escape(t.value)
                                              || '</td>', '' ORDER BY t.span)) AS html
          FROM totals t GROUP BY t.no, t.label) r
),

-- Section about the machine, and the clocks watched in the last day.  Merges a clock's samples.
samples AS (
    SELECT h.at, h.warm_ns, h.cold_ns, h.sample, h.sample::jsonb AS members
    FROM history h WHERE h.per = 'minute' AND h.at >= now() - interval '1 day'
), merged AS MATERIALIZED (
    SELECT s.members ->> 'source'::text AS source, s.members ->> 'clock'::text AS reads,
           clock_merge(s.sample) AS sample, max(s.at) AS seen,
           (pg_catalog.array_agg(s.warm_ns ORDER BY s.at DESC))[1] AS warm_ns,
           (pg_catalog.array_agg(s.cold_ns ORDER BY s.at DESC))[1] AS cold_ns
    FROM samples s
    -- Skips samples without durations.  "readings" counts durations and backward steps.
    WHERE (s.members ->> 'readings'::text)::bigint > (s.members ->> 'backward_steps'::text)::bigint
    GROUP BY 1, 2
), clocks AS (
    SELECT string_agg(pg_catalog.concat(
        '<article><h3>', internal_clock_page_escape(m.source),
        '</h3><p>', internal_clock_page_escape(m.reads),
        ', latest observation ', to_char(m.seen, 'YYYY-MM-DD HH24:MI'), '</p><dl>',
        (SELECT string_agg(pg_catalog.format('<div><dt>%s</dt><dd>%s ns</dd></div>', v.label,
                                             internal_clock_page_escape(v.ns)), '' ORDER BY v.no)
         FROM (VALUES (1, 'warm reading', m.warm_ns::text), (2, 'cold reading', m.cold_ns::text),
                      (3, 'median duration', s.p50_ns::text),
                      (4, '99 % quantile', s.p99_ns::text)) v(no, label, ns)),
        '</dl><table class="h"><caption>Durations from one reading to the next, ', s.readings,
        ' in the last day</caption>',
        '<thead><tr><th scope="col">up to, ns</th><th scope="col">%</th>'
        '<th scope="col"><span class="sr">bar</span></th></tr></thead><tbody>',
        (SELECT string_agg(pg_catalog.concat(
                               '<tr><th scope="row">', d.le_ns, '</th><td>', d.percent,
                               '</td><td><svg viewBox="0 0 100 1" ',
                               'preserveAspectRatio="none" aria-hidden="true"><path d="M0 0H',
                               d.percent, 'V1H0"/></svg></td></tr>'), '' ORDER BY d.le_ns)
         FROM clock_histogram(m.sample, NULL::double precision) d WHERE d.count > 0::bigint),
        '</tbody></table></article>'), '' ORDER BY m.seen DESC, m.source) AS html
    FROM merged m, LATERAL clock_summary(m.sample) s
), machine AS (
    SELECT '<dl>'
           || string_agg(pg_catalog.format('<div><dt>%s</dt><dd>%s</dd></div>', v.label,
                                           internal_clock_page_escape(v.value)), '' ORDER BY v.no)
           || '</dl>' AS html
    FROM latest l, LATERAL (VALUES
        (1, 'kernel&#8217;s clock source', l.kernel_clock_source),
        (2, 'synchronised', CASE WHEN l.synchronised THEN 'yes'
                                 WHEN NOT l.synchronised THEN 'no' END),
        (3, 'processor', l.processor),
        (4, 'CPUs', l.cpus::text),
        (5, 'hypervisor', l.hypervisor)) v(no, label, value)
),

listed AS (
    SELECT string_agg(pg_catalog.format(
               '<tr id="e%s"><td>%s<small>%s</small></td>'
               '<td><b>%s</b>: %s &#8594; %s<small>%s</small></td></tr>',
               e.no, to_char(e.at, 'YYYY-MM-DD"<br/>"HH24:MI:SS'),
               CASE WHEN e.ended_at IS NULL THEN '<b>goes on</b>'
                    WHEN e.ended_at = e.at THEN 'a moment'
                    ELSE internal_clock_page_escape(
                             date_trunc('second', e.ended_at - e.at)::text) END,
               internal_clock_page_escape(e.what), internal_clock_page_escape(e.before),
               internal_clock_page_escape(e.after), internal_clock_page_escape(e.evidence)),
               '' ORDER BY e.no) FILTER (WHERE e.no <= 50::bigint) AS html,
           count(*) AS n, count(*) FILTER (WHERE e.ended_at IS NULL) AS going_on,
           count(*) FILTER (WHERE e.at >= now() - interval '1 day') AS today
    FROM events e
), costs AS (
    SELECT string_agg(pg_catalog.format(
               '<tr><th scope="row">%s<small>%s</small></th><td>%s</td><td>%s%s</td></tr>',
               replace(c.setting, '_', '_<wbr/>'),
               internal_clock_page_escape(coalesce('is ' || c.value, 'not loaded')),
               internal_clock_page_escape(round(c.operations_per_s, 1)::text),
               internal_clock_page_escape(c.cpu_percent::text),
               '<small>at least ' || nullif(c.least_percent, c.cpu_percent)::text || '</small>'),
               '' ORDER BY c.setting DESC) AS html
    FROM (SELECT d.setting, d.value, sum(d.operations_per_s) AS operations_per_s,
                 sum(d.cpu_percent) AS cpu_percent, sum(d.least_cpu_percent) AS least_percent
          FROM internal_clock_impact(NULL::double precision,
                                     coalesce((SELECT l.warm_ns FROM latest l),
                                              'NaN'::double precision)) d
          GROUP BY d.setting, d.value) c
), nodes AS (
    SELECT string_agg(pg_catalog.concat(
               '<tr><td class="t">',
               CASE n.node WHEN 0 THEN 'Outside of the nodes'
                    ELSE internal_clock_page_escape(n.node_type) END,
               CASE WHEN n.relation IS NOT NULL
                    THEN ' on <b>' || internal_clock_page_escape(n.relation) || '</b>' END,
               CASE WHEN n.index_name IS NOT NULL
                    THEN ' using ' || internal_clock_page_escape(n.index_name) END,
               '<small>database ', internal_clock_page_escape(n.dbname::text),
               ', query ', internal_clock_page_escape(n.queryid::text),
               ', plan ', internal_clock_page_escape(n.planid::text),
               ', node ', n.node, '</small></td><td>',
               round(n.self_ms::numeric, 3),
               ' &#177; ' || round(n.self_margin_ms::numeric, 3)::text,
               '<small>', internal_clock_page_escape(n.share_percent::text),
               ' % of its plan</small></td><td>',
               internal_clock_page_escape(n.mean_rows_factor::text), '</td></tr>'),
               '' ORDER BY n.self_ms DESC) AS html
    FROM (SELECT s.*, d.datname AS dbname
          FROM clock_node_stats(10) s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
          WHERE (SELECT k.plans FROM knows k)) n
), steps AS (
    SELECT coalesce(string_agg('<li>' || s.html || '</li>', '' ORDER BY s.no),
                    '<li>Nothing.</li>') AS html
    FROM knows k LEFT JOIN latest l ON true LEFT JOIN trust t ON true, LATERAL (VALUES
        (1, NOT k.watched,
         'The clocks are not watched. Put <code>clocktiming</code> into '
         '<code>shared_preload_libraries</code>, set <code>clocktiming.watch = on</code>, '
         'make sure that <code>max_worker_processes</code> leaves a slot for the worker, and '
         'restart the server. Until then, <code>SELECT * FROM clock_advice();</code> measures for '
         'a second and recommends what to do.'),
        (2, k.watched AND l.at IS NULL,
         'The background worker has not recorded an interval yet. '
         'Look again after <code>clocktiming.watch_interval</code>; '
         'if there is still no interval, the server&#8217;s log states the reason.'),
        (3, l.at + interval '2 minutes'
            + current_setting('clocktiming.watch_interval', true)::interval
              * 2.0::double precision < now(),
         'The background worker has recorded nothing since ' || to_char(l.at, 'YYYY-MM-DD HH24:MI')
         || '. The server&#8217;s log states the reason.'),
        (4, t.trusted IS NULL AND l.at IS NOT NULL,
         'Timings of a period can be judged only if the clock was watched for 90 % of it. '
         'Look again tomorrow, or ask about a shorter period: '
         '<code>SELECT * FROM clock_trust(now() - interval &#39;10 minutes&#39;);</code>'),
        (5, NOT t.trusted,
         'Do not trust times that <code>EXPLAIN ANALYZE</code>, <code>auto_explain</code>, '
         '<code>pg_stat_statements</code> and <code>track_io_timing</code> have measured during '
         'the <a href="#events">events</a> named. '
         '<code>SELECT * FROM clock_advice();</code> says what is wrong now, and what to do.'))
         s(no, applies, html)
    WHERE s.applies
)
SELECT pg_catalog.concat('<!DOCTYPE html>
<html lang="en"><head><meta charset="',
CASE WHEN pg_client_encoding()::text IN ('UTF8', 'SQL_ASCII') THEN 'utf-8'
     ELSE replace(replace(pg_client_encoding()::text, '_', '-'), 'WIN', 'windows-') END,
'"/><title>Clocks of ', who.name, '</title><meta name="viewport" content="width=device-width"/>
<meta http-equiv="Content-Security-Policy" '
'content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"/><style>
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#545d68;--line:#d0d7de;--soft:#f5f7f9;'
'--hue:#0b5fa5;--ok:#116329;--bad:#b3261e;--unk:#6b5200}
@media(prefers-color-scheme:dark){'
':root{--bg:#0f1318;--fg:#e4e9ef;--dim:#9aa5b1;--line:#333b45;--soft:#181e25;'
'--hue:#6cb6ff;--ok:#56d364;--bad:#ff8a80;--unk:#e3b341}}
body{max-width:70rem;margin:auto;padding:1rem;background:var(--bg);color:var(--fg);'
'font:1rem/1.5 system-ui,sans-serif}
td,dd,h1,code{overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}'
'h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--line)}'
'h3{font-size:1rem;margin:0}
p,dl,ul{margin:.5rem 0}ul{padding-left:1.2rem}figure{margin:1.5rem 0 3rem}
small,dt,caption,figcaption ul,footer,header p,article p,i{color:var(--dim);font-size:.85rem}
code{background:var(--soft);padding:.1em .3em;border-radius:3px}a{color:var(--hue)}
.v{border-left:.4rem solid var(--c);background:var(--soft);padding:.8rem 1rem;margin:1rem 0}'
'.v strong{color:var(--c);font-size:1.3rem}.v p{margin:0}
.ok{--c:var(--ok)}.bad{--c:var(--bad)}.unk{--c:var(--unk)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.5rem 1rem}'
'dd{margin:0;font-variant-numeric:tabular-nums}
.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:0 1.5rem}'
'.key svg{width:24px;height:8px}
.plot{position:relative;height:12rem;margin:1.5rem .5rem 1.8rem 3rem;border:solid var(--line);'
'border-width:0 0 1px 1px}
.plot svg{position:absolute;width:100%;height:100%}
path{fill:none;vector-effect:non-scaling-stroke}.g{stroke:var(--line)}
.w{stroke:var(--hue);stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}'
'.b{stroke:var(--hue);stroke-width:1;opacity:.25;vector-effect:none}
.e{fill:var(--bad);fill-opacity:.15;stroke:var(--bad);stroke-opacity:.5}'
'.m,.k{color:var(--bad);font-size:.8rem;line-height:1;text-decoration:none}
.m{position:absolute;bottom:100%;transform:translateX(-50%)}'
'.y,.x{position:absolute;font-size:.8rem;color:var(--dim)}small{display:block}
.y,.x{white-space:nowrap}.y{right:100%;transform:translateY(50%);padding-right:.4rem}'
'.x{top:100%;transform:translateX(-50%);padding-top:.2rem}
table{border-collapse:collapse;width:100%;margin:1rem 0;font-variant-numeric:tabular-nums}'
'caption{text-align:left}
th,td{padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;'
'vertical-align:top}th{font-weight:400}
td:last-child,th:last-child{padding-right:0}'
'thead th{color:var(--dim);font-size:.85rem;vertical-align:bottom}
.n td,.n thead th:not(:first-child),.h td,.h th{text-align:right}'
'.n td:not(.t),.h td{overflow-wrap:normal}.n .t{text-align:left}.n{max-width:48rem}
.ev td:first-child{white-space:nowrap}:target{background:var(--soft);outline:2px solid var(--hue)}
article{margin:1rem 0 2rem}.h td,.h th{border:0;padding:.1rem .7rem .1rem 0;width:4rem}'
'.h th:last-child,.h td:last-child{width:auto}
.h svg{display:block;width:100%;height:1.1em}.h path{fill:var(--hue)}
.sr{position:absolute;clip-path:inset(50%)}'
'footer{margin-top:2.5rem;border-top:1px solid var(--line)}
</style></head><body>
<header><h1>Clocks of ', who.name, '</h1><p>', to_char(now(), 'YYYY-MM-DD HH24:MI:SS'),
', times of ', internal_clock_page_escape(current_setting('TimeZone')),
'; PostgreSQL ',
internal_clock_page_escape(split_part(current_setting('server_version'), ' ', 1)), '</p></header>
<main><section class="v ',
CASE WHEN t.trusted THEN 'ok' WHEN NOT t.trusted THEN 'bad' ELSE 'unk' END,
'"><p>Timings of the last day</p><strong>',
internal_clock_page_escape(coalesce(t.verdict, 'not known: the clocks are not watched')),
'</strong>',
CASE WHEN l.at IS NOT NULL THEN pg_catalog.concat(
    '<p>A reading of ', internal_clock_page_escape(l.source),
    ' costs ', internal_clock_page_escape(l.warm_ns::text),
    ' ns. Watched for ', internal_clock_page_escape(t.watched_percent::text),
    ' % of the last day; events: ', e.today, ', going on: ', e.going_on, '.</p>') END,
'</section><h2>What to do</h2><ul>', (SELECT s.html FROM steps s), '</ul>
<h2>Clocks</h2>',
coalesce((SELECT c.html FROM clocks c), '<p>No clock was watched in the last day.</p>'),
(SELECT m.html FROM machine m), '
<h2>The last day and the last 400 days</h2>', coalesce((SELECT c.html FROM charts c)
    || '<table class="n"><thead><tr><th scope="col"><span class="sr">what</span></th>'
       '<th scope="col">last day</th><th scope="col">last 400 days</th></tr></thead><tbody>'
    || (SELECT f.html FROM figures f) || '</tbody></table>', '<p>There is no history.</p>'), '
<h2 id="events">Events</h2>',
CASE WHEN e.n = 0::bigint THEN '<p>None is known.</p>' ELSE pg_catalog.concat(
    '<table class="ev"><thead><tr><th scope="col">at, and for how long</th>'
    '<th scope="col">event, value before and after</th></tr></thead><tbody>', e.html,
    '</tbody></table>',
    CASE WHEN e.n > 50::bigint
         THEN '<p>The latest 50 of ' || e.n::text
              || '. <code>SELECT * FROM clock_events;</code> returns all events.</p>' END) END, '
<h2>Cost of timing</h2>',
'<p><code>EXPLAIN ANALYZE</code> reads the clock twice for each row that a node of a plan returns: '
'at least ' || trim_scale(2.0 * l.warm_ns::numeric)::text || ' ms for a million.</p>',
'<table class="n"><thead><tr><th scope="col">setting</th>'
'<th scope="col">operations per second</th><th scope="col">% of one CPU</th></tr></thead><tbody>',
(SELECT c.html FROM costs c),
'</tbody></table><p>Computed from the server&#8217;s statistics since their reset and the cost of '
'a warm reading. ',
'<code>SELECT * FROM clock_impact();</code> measures the cost, and returns bounds.</p>
<h2>The worst plan nodes</h2>',
coalesce('<table class="n"><thead><tr><th scope="col">node</th>'
    '<th scope="col">self time, ms</th>'
    '<th scope="col">estimated rows wrong by a factor of</th></tr></thead><tbody>'
    || (SELECT n.html FROM nodes n) || '</tbody></table>',
    '<p>There are no plan statistics.</p>'),
CASE WHEN NOT k.plans
     THEN '<p>To collect plan statistics, put <code>clocktiming</code> into '
          '<code>shared_preload_libraries</code>.</p>'
     WHEN current_setting('clocktiming.track', true) IS DISTINCT FROM 'on'
     THEN '<p>No statistics are being collected. To collect them: '
          '<code>ALTER SYSTEM SET clocktiming.track = on; SELECT pg_reload_conf();</code></p>'
     END, '
</main><footer><p>Made by clock_page() of clocktiming from clock_history, clock_events, '
'clock_trust(), clock_node_stats and the server&#8217;s statistics, ',
'without measuring.</p></footer></body></html>')
FROM knows k LEFT JOIN latest l ON true LEFT JOIN trust t ON true CROSS JOIN listed e,
     (SELECT internal_clock_page_escape(coalesce(nullif(current_setting('cluster_name'), ''),
                 'the server on port ' || current_setting('port'))) AS name) who;
END;
COMMENT ON FUNCTION clock_page() IS
    'returns an HTML page about this server''s clocks: reliability of timings of the last day, '
    'cost of a reading and events during the last day and the last 400 days, cost of timing for '
    'the server''s work, and the ten plan nodes with the longest self times; measures nothing';
\only_for pg_monitor FUNCTION clock_page()
