
# clock_page() returns a well-formed HTML document with the values of the views. Values are escaped,
# and any of them may be missing. The page must fit windows of 400 and of 1600 pixels, in the light
# and the dark colour scheme.

use strict;
use warnings;

use File::Temp ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $evil = q{<script>alert('1')</script> & "quoted"};
my $escaped = '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "listen_addresses = ''\ntimezone = 'Europe/Berlin'\nautovacuum = off");
$node->start;

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub page { return query('SELECT clock_page()'); }

query('CREATE EXTENSION clocktiming; CREATE ROLE regress_monitor LOGIN IN ROLE pg_monitor; CREATE ROLE regress_other LOGIN');
my $has_xml = $node->psql('postgres', q{SELECT xml_is_well_formed('<a/>')}) == 0;
my $xmllint = (grep { -x "$_/xmllint" } split /:/, $ENV{PATH})[0];

sub check_form
{
	my ($html, $name) = @_;

	unlike($html, qr{<script|src=|href="(?!#)|url\(|\@import}i, "$name: no script, and nothing from elsewhere");
	my %ids;
	$ids{$_}++ foreach $html =~ / id="([^"]+)"/g;
	is(join(' ', grep { $ids{$_} != 1 } sort keys %ids), '', "$name: no two elements have the same id");
	is(join(' ', grep { !$ids{$_} } $html =~ /(?:href="#|aria-labelledby=")([^"]+)"/g), '', "$name: the targets of all references exist");
	if ($has_xml)
	{
		my $quoted = $html =~ s/'/''/gr;
		is(query("SELECT xml_is_well_formed_document('$quoted')"), 't', "$name: well-formed");
	}
	elsif ($xmllint)
	{
		my $file = File::Temp->new;
		print $file $html;
		close $file;
		is(system("$xmllint/xmllint --noout --nonet $file"), 0, "$name: well-formed");
	}
	else { SKIP: { skip('neither a server with libxml nor xmllint', 1) } }
	return $html;
}

# Without a history
my $html = check_form(page(), 'no worker');
like($html, qr{<strong>not known: the clocks are not watched</strong>}, 'the page has no verdict');
like($html, qr{<code>clocktiming\.watch = on</code>}, '... and names the setting to change');
like($html, qr{<h1>Clocks of main</h1>}, '... and names the cluster');

# The server accepts any value for a setting of a library that is not loaded. The page shows this
# value.
(my $quoted_evil = $evil) =~ s/'/''/g;
like(check_form(query("SET auto_explain.log_analyze = '$quoted_evil'; SELECT clock_page()"), 'a setting'), qr{<small>is \Q$escaped\E</small>}, 'the value is escaped');

# With the worker and with statistics of plans
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'clocktiming'
clocktiming.watch = on
clocktiming.watch_interval = 100ms
clocktiming.max_overhead = 100
});
$node->restart;
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM clock_history WHERE warm_ns > 0') or die;
$html = check_form(page(), 'the first intervals');
# On a busy machine the clock may have events, so there are two possible verdicts.
like($html, qr{<strong>not (?:known: the clock was watched for [0-9.]+ % of the period</strong>.*Look again tomorrow|to be believed: .*Do not trust times)}s, 'a verdict, and what to do');
like($html, qr{<table class="h">}, 'a histogram');
like($html, qr{<path class="w" d="M\d+ [\d.]+h0[^"]*"}, 'a chart');
like($html, qr{<p>There are no plan statistics\.</p>.*ALTER SYSTEM SET clocktiming\.track = on}s, 'no statistics, and the statement that enables them');

my $table = '"' . ($evil =~ s/"/""/gr) . '"';
my $long = 'a_relation_whose_name_has_no_spaces_and_sixty_three_characters';
query(qq{
	CREATE TABLE $table AS SELECT 1 AS i;
	CREATE TABLE $long AS SELECT 1 AS i;
	SET clocktiming.track = on;
	SELECT * FROM $table;
	SELECT * FROM $long;
	SET clocktiming.track = off;});
$html = check_form(page(), 'statistics of plans');
my @expected = split /\n/, query(q{SELECT self_ms::numeric(20,3) FROM clock_node_stats WHERE self_ms IS NOT NULL ORDER BY self_ms DESC LIMIT 10});
is(scalar(@expected), 4, 'two plan nodes, and the times outside of them');
is(join(' ', $html =~ m{node \d+</small></td><td>([0-9.]+)}g), join(' ', @expected), 'with the times of the view');
like($html, qr{Seq Scan on <b>\Q$escaped\E</b>}, 'the name of a table is escaped');
like($html, qr{Seq Scan on <b>$long</b>}, 'a long table name is complete');
like($html, qr{<td class="t">Outside of the nodes<small>[^<]*, node 0</small>}, 'the time outside of the nodes');

# Of many plan nodes, the page shows only the ten with the longest self times.
my $union = join(' UNION ALL ', ("SELECT i FROM $long") x 200);
query("SET clocktiming.track = on; SET clocktiming.track_everything = on; SELECT $_ FROM ($union) u") foreach 'count(*)', 'max(i)', 'min(i)', 'sum(i)';
my $spilled = q{SET log_temp_files = 0; SET work_mem = '64kB'; };
my $log_offset = -s $node->logfile;
query($spilled . 'SELECT clock_page()');
unlike(slurp_file($node->logfile, $log_offset), qr/temporary file/, 'with many plan nodes it writes no temporary file');
query($spilled . 'SELECT count(*) FROM clock_node_stats');
like(slurp_file($node->logfile, $log_offset), qr/temporary file/, 'the view writes a temporary file');
is( query(q{SELECT string_agg(self_ms::text, ' ') FROM clock_node_stats(3)}),
	query(q{SELECT string_agg(self_ms::text, ' ' ORDER BY self_ms DESC) FROM (SELECT self_ms FROM clock_node_stats WHERE self_ms IS NOT NULL ORDER BY self_ms DESC LIMIT 3) w}),
	'the worst nodes');
is(query(join ' UNION ALL ', map { "(SELECT count(*) FROM clock_node_stats($_))" } '0', '-1', '2000000000'), "1\n1\n" . query('SELECT least(count(*), 1000) FROM clock_node_stats WHERE self_ms IS NOT NULL'), 'numbers of nodes for several limits');
query('SELECT clock_stats_reset()');
query("SET clocktiming.track = on; SET clocktiming.track_everything = on; SELECT * FROM $table");

is($node->psql('postgres', 'SELECT clock_page()', extra_params => [ '-U', 'regress_monitor' ]), 0, 'a member of pg_monitor may call clock_page()');
isnt($node->psql('postgres', 'SELECT clock_page()', extra_params => [ '-U', 'regress_other' ]), 0, 'an ordinary role may not call clock_page()');

# Replaces the views by an artificial history of 400 days with a pause, and by many kinds of events.
query(q{
	CREATE TABLE list_history AS
	SELECT t.per, t.at, 6 AS intervals, t.watched_s, 'rdtsc' AS source, t.ns + 20 AS cold_ns, t.ns AS warm_ns,
	       -0.5 + t.i % 3 AS rate_ppm, NULL::float8 AS assumed_rate_ppm, NULL::float8 AS error_bound_ppm, (t.i % 100 = 7)::int::bigint AS backward_steps, 0::bigint AS warps, 2::bigint AS lags, 3::bigint AS gaps,
	       t.i % 7 / 8.0::float8 AS stolen_percent, 0.25::float8 AS off_cpu_percent, 0::float8 AS cpu_skew_ns, true AS synchronised, 1.5::float8 AS sync_offset_us, 250 + t.i % 10 / 2.0::float8 AS sync_error_us, 0::float8 AS sync_frequency_ppm,
	       'tsc' AS kernel_clock_source, 'b' AS boot_id, 'EVIL' AS hypervisor, 'a processor' AS processor, 2 AS cpus, s.sample
	FROM (SELECT 'minute' AS per, date_trunc('minute', now()) - i * interval '1 minute' AS at, i, 60::float8 AS watched_s, 20.5::float8 + i % 5 / 4.0 AS ns FROM generate_series(0, 1439) i
	      UNION ALL
	      SELECT 'hour', date_trunc('hour', now()) - i * interval '1 hour', i, 3600, 30 + i / 1000 FROM generate_series(0, 9599) i WHERE i NOT BETWEEN 3000 AND 3500) t,
	     (SELECT sample FROM clock_history WHERE per = 'minute' AND warm_ns > 0 LIMIT 1) s;
	CREATE TABLE list_events (at timestamptz, what text, before text, after text, evidence text, ended_at timestamptz, repetitions bigint DEFAULT 0);
	INSERT INTO list_events VALUES
	    (now() - interval '200 days', 'machine', repeat('b', 79), 'EVIL', repeat('e', 159), now() - interval '200 days'),
	    (now() - interval '100 days', 'synchronisation', 'synchronised', 'not synchronised', 'EVIL', now() - interval '90 days'),
	    (now() - interval '20 hours', 'cost', '20.5 ns', '31.0 ns', 'a reading costs 1.51 times as much', NULL);
	DO $$
	DECLARE change text;
	BEGIN
		FOR change IN
			SELECT format('CREATE OR REPLACE FUNCTION %s(%s) RETURNS SETOF record LANGUAGE sql AS $f$ SELECT * FROM public.list_%s %s $f$',
			              proname, pg_get_function_arguments(oid), substr(proname, 7), CASE WHEN pronargs > 0 THEN 'WHERE per = coalesce(period, per)' END)
			FROM pg_proc WHERE proname IN ('clock_history', 'clock_events')
		LOOP EXECUTE change; END LOOP;
	END $$;
});
my $quoted = $evil =~ s/'/''/gr;
query(qq{UPDATE list_history SET hypervisor = '$quoted'; UPDATE list_events SET after = '$quoted' WHERE after = 'EVIL'; UPDATE list_events SET evidence = '$quoted' WHERE evidence = 'EVIL'});
my $full = $html = check_form(page(), 'a full history');
is(() = $html =~ /\Q$escaped\E/g, 1 + 1 + 2, 'all values are escaped: table, hypervisor and events');

# The page shows the values of the views.
is(($html =~ m{<section class="v (\w+)"})[0], 'bad', 'the verdict');
is(($html =~ m{<strong>(.*?)</strong>})[0], query(q{SELECT verdict FROM clock_trust(now() - interval '1 day')}), '... is that of clock_trust');
is(($html =~ m{events: (\d+), going on: (\d+)}) ? "$1 $2" : '', query(q{SELECT count(*) FILTER (WHERE at >= now() - interval '1 day') || ' ' || count(*) FILTER (WHERE ended_at IS NULL) FROM clock_events}), 'numbers of events');
is(($html =~ m{A reading of rdtsc costs ([0-9.]+) ns})[0], query(q{SELECT warm_ns FROM clock_history WHERE per = 'minute' ORDER BY at DESC LIMIT 1}), 'cost of a reading');
foreach my $figure (
	[ 'watched, hours', 'round(sum(watched_s)::numeric / 3600, 2)' ],
	[ 'cost of a warm reading, ns', q{concat(min(warm_ns), ' to ', max(warm_ns))} ],
	[ 'cost of a cold reading, ns', q{concat(min(cold_ns), ' to ', max(cold_ns))} ],
	[ 'faster than the kernel&#8217;s clock, ppm', q{concat(min(rate_ppm), ' to ', max(rate_ppm))} ],
	[ 'backward steps', 'sum(backward_steps)' ],
	[ 'warps: jumps ahead', 'sum(warps)' ],
	[ 'lags: falls behind the reference', 'sum(lags)' ],
	[ 'CPU time stolen by the hypervisor, maximum, %', 'max(stolen_percent)' ],
	[ 'lost to other processes or a CPU limit during observations, maximum, %', 'max(off_cpu_percent)' ],
	[ 'bound of the synchronisation error, maximum, &#181;s', 'max(sync_error_us)' ])
{
	my ($label, $sql) = @$figure;
	# The view's oldest row is excluded, because it may have become too old since the page was made.
	my $values = join(' | ', map { query("SELECT $sql FROM clock_history WHERE per = '$_->[0]' AND at >= now() - interval '$_->[1]'") } [ 'minute', '1 day' ], [ 'hour', '400 days' ]);
	my @got = ($html =~ m{<tr><th scope="row">\Q$label\E</th><td>(.*?)</td><td>(.*?)</td></tr>});
	is(join(' | ', @got), $values, $label) if $label !~ /watched|steps|lags/;
	like(join(' | ', @got), qr/^[1-9][0-9.]* \| [1-9][0-9.]*$/, $label) if $label =~ /watched|steps|lags/;
}
is(join(' ', $html =~ m{<tr><th scope="row">(\d+)</th><td>([0-9.]+)</td><td><svg}g),
	query(q{SELECT string_agg(le_ns || ' ' || percent, ' ' ORDER BY le_ns) FROM (SELECT clock_merge(sample) AS sample FROM clock_history WHERE per = 'minute') s, clock_histogram(sample) WHERE count > 0}), 'the histogram');
my @charts = $html =~ m{<path class="w" d="([^"]*h0[^"]*)"}g;
is(scalar(@charts), 2, 'two charts');
is(() = $charts[0] =~ /M/g, 1, 'a line of a day');
is(() = $charts[1] =~ /M/g, 2, 'a line of 400 days that is interrupted');
cmp_ok(scalar(() = $charts[1] =~ /[ML]/g), '>', 370, '... with a point a day');
is(() = $html =~ /<a class="m"/g, 4, 'marks of three events: one of the last day');
# Positions of event marks in the charts, in percent of the width. In the chart of 24 hours, an
# event of 20 hours ago is at 16 %. In the chart of 400 days, an event of 200 days ago is at 50 %.
my @at = $html =~ /<a class="m" href="#e(\d)" style="left:([0-9.]+)%"/g;
like("@at", qr/^1 16\.\d 3 50\.0 2 75\.0 1 99\.8$/, '... where they happened');
is(join(' ', $html =~ /<tr id="(e\d+)"/g), 'e1 e2 e3', 'events are listed');
is(() = $html =~ m{<b>goes on</b>}g, 1, 'one event is ongoing');
my $reading = query(q{SELECT trim_scale(2 * warm_ns::numeric) FROM clock_history WHERE per = 'minute' ORDER BY at DESC LIMIT 1});
like($html, qr{at least \Q$reading\E ms for a million}, 'what timing costs');
my %impact = map { split /\|/ } split /\n/, query('SELECT replace(setting, $$_$$, $$_<wbr/>$$), value FROM clock_impact() WHERE value IS NOT NULL');
is_deeply({ $html =~ m{<th scope="row">((?:track|clocktiming)\S+)<small>is (\w+)</small>}g }, \%impact, '... by the settings of clock_impact');

# The three verdicts
query(q{UPDATE list_events SET ended_at = at - interval '4 days', at = at - interval '5 days' WHERE what = 'cost'});
query(q{UPDATE list_history SET at = at + (date_trunc('minute', now()) - (SELECT max(at) FROM list_history WHERE per = 'minute')) WHERE per = 'minute'});
$html = check_form(query('SET default_transaction_read_only = on; SELECT clock_page()'), 'a calm day');
like($html, qr{<section class="v ok">.*<strong>to be believed</strong>.*<ul><li>Nothing\.</li></ul>}s, 'is to be believed');
query(q{UPDATE list_history SET at = at - interval '2 hours'});
like(page(), qr{has recorded nothing since}, 'a worker that has ended');

# Nearly no data
query(q{INSERT INTO list_events SELECT now() - i * interval '20 minutes', 'resume', 'running', 'suspended', '', now() FROM generate_series(1, 70) i});
query(q{DELETE FROM list_history WHERE per = 'hour' OR at < (SELECT max(at) FROM list_history)});
query(q{UPDATE list_history SET source = 'system', cold_ns = NULL, warm_ns = NULL, rate_ppm = NULL, stolen_percent = NULL, off_cpu_percent = NULL, synchronised = NULL, sync_offset_us = NULL, sync_error_us = NULL,
	kernel_clock_source = NULL, boot_id = NULL, hypervisor = NULL, processor = NULL, cpus = NULL});
$html = check_form(page(), 'one row of nulls');
like($html, qr{<dt>hypervisor</dt><dd><i>not known</i></dd>}, 'unknown values are marked as not known');
like($html, qr{The latest 50 of 73\.}, 'many events');
is(() = $html =~ /<tr id="e/g, 50, '... are listed in part');
query('TRUNCATE list_history, list_events');
$html = check_form(page(), 'no row');
like($html, qr{has not recorded an interval yet}, 'the worker has not measured yet');

query('CREATE SCHEMA elsewhere; ALTER EXTENSION clocktiming SET SCHEMA elsewhere');
like(query('SET search_path = pg_temp; SELECT elsewhere.clock_page()'), qr{</html>$}, 'in another schema');
$node->stop;

# Renders the page in a browser.
my ($chromium) = grep { -x } map { my $d = $_; map { "$d/$_" } qw(chromium chromium-browser google-chrome) } split /:/, $ENV{PATH};
SKIP:
{
	diag 'SKIPPED: how the page looks, as there is no Chromium' unless $chromium;
	skip('there is no Chromium', 1) unless $chromium;
	my $dir = File::Temp->newdir;

	# Script that checks each piece of text: it must be within the window, not be covered, and have
	# a contrast of at least 4.5 to 1.
	my $script = <<'EOF';
<script>
addEventListener('load', () => {
	const faults = [], texts = [], width = document.documentElement.clientWidth
	const scrolled = document.documentElement.scrollWidth
	if (scrolled > width) faults.push('is ' + scrolled + ' wide')
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b + .05 }
	const behind = e => { const c = getComputedStyle(e).backgroundColor; return c != 'rgba(0, 0, 0, 0)' || !e.parentElement ? c : behind(e.parentElement) }
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement
		if (!n.data.trim() || e.closest('script,.sr')) continue
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))]
		if (Math.max(a, b) / Math.min(a, b) < 4.5) faults.push('hard to read: ' + n.data)
		const range = document.createRange()
		range.selectNodeContents(n)
		for (const r of range.getClientRects()) {
			if (r.right > width + 1 || r.left < -1) faults.push('outside: ' + n.data)
			for (const t of texts)
				if (Math.min(r.right, t.r.right) - Math.max(r.left, t.r.left) > 2 && Math.min(r.bottom, t.r.bottom) - Math.max(r.top, t.r.top) > 6)
					faults.push('overlap: ' + n.data + ' and ' + t.n.data)
			if (!e.closest('.m')) texts.push({n, r})
		}
	}
	for (const s of document.querySelectorAll('.plot svg'))
		if (s.getBoundingClientRect().width < width / 2 && width < 1000 || s.getBoundingClientRect().height < 100) faults.push('a small chart')
	parent.postMessage([width, document.scripts.length, texts.length > 100 ? 'texts' : 'no texts', light(behind(document.body)) > .5 ? 'light' : 'dark', ...faults].join('; '), '*')
})
</script>
EOF
	my $measured = $full;
	$measured =~ s/<meta http-equiv="Content-Security-Policy"[^>]*>// or die;
	$measured =~ s{</body>}{$script</body>} or die;

	my $write = sub { my ($name, $content) = @_; my $file = "$dir/$name.html"; append_to_file($file, $content); return "file://$file"; };
	my $browse = sub {
		my ($url, @options) = @_;
		local $ENV{HOME} = "$dir";
		my ($out, $err) = ('', '');
		IPC::Run::run([ $chromium, qw(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr --virtual-time-budget=10000 --dump-dom), "--user-data-dir=$dir/profile", @options, $url ],
			'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		return ($out, join("\n", grep { /CONSOLE/ } split /\n/, $err));
	};
	my $frames = sub {
		my ($name, $page) = @_;
		my $inner = $write->("${name}_inner", $page);
		return $write->($name, q{<!DOCTYPE html><body><script>addEventListener('message', e => { const p = document.createElement('p'); p.textContent = e.data; document.body.append(p) })</script>}
			  . join('', map { qq{<iframe src="$inner" style="width:${_}px;height:20000px;border:0"></iframe>} } 400, 1600));
	};
	my $results = sub { my ($dom) = @_; return [ sort $dom =~ m{<p>(.*?)</p>}g ]; };

	my (undef, $console) = $browse->($write->('page', $full));
	is($console, '', 'no message in the console');
	(undef, $console) = $browse->($write->('loud', $full =~ s/<main>/<main><img src="missing.png"\/><script>alert(1)<\/script>/r));
	like($console, qr/Content Security Policy/, '... where it would be seen; and a script would not be run');

	my $url = $frames->('fits', $measured);
	foreach my $theme ('light', 'dark')
	{
		my ($dom) = $browse->($url, '--blink-settings=preferredColorScheme=' . ($theme eq 'dark' ? 0 : 1));
		is_deeply($results->($dom), [ map { "$_; 1; texts; $theme" } 1600, 400 ], "$theme: fits into 400 and 1600 pixels, and can be read");
	}
	my ($dom) = $browse->($frames->('faulty', $measured =~ s{</style>}{.x{left:50%!important}td,dd,code{overflow-wrap:normal!important}header p{color:#aaa!important}</style>}r));
	like(join("\n", @{ $results->($dom) }), qr/400; 1; texts; light; is \d+ wide.*hard to read.*overlap/, '... and the test sees what does not');
}

done_testing();
