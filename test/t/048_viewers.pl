
# Programs that show plans: pev2 (explain.dalibo.com), Pg::Explain (explain.depesz.com) and
# pgBadger. They must show the nodes, times, rows and loops of clocktiming's plans correctly. pev2
# must also show the margins.

use strict;
use warnings;

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

sub program
{
	my ($name) = @_;
	# If the program is not found, returns undef and not an empty list: the map that calls this
	# function needs one value for each program.
	my ($found) = grep { -x } map { "$_/$name" } split /:/, $ENV{PATH};

	return $found;
}

# Directory of pev2, which "tools/fetch pev2" creates
my $pev2 = ($ENV{CLOCKTIMING_CACHE} // '/var/cache/clocktiming') . '/pev2';
my ($javascript, $chromium, $pgbadger) = map { program($_) } qw(node chromium pgbadger);
my $pg_explain = eval { require Pg::Explain; 1 };
my %missing = (
	'pev2 and node (make test-companions fetches pev2)' => !$javascript || !-r "$pev2/pev2.umd.js",
	'pgbadger' => !$pgbadger,
	'the Perl module Pg::Explain' => !$pg_explain);

diag "SKIPPED: the tests that need $_, because it was not found" for grep { $missing{$_} } sort keys %missing;
plan skip_all => 'there is no viewer' if !grep { !$_ } values %missing;

my $prefix = '%t [%p]: db=%d,user=%u,app=%a,client=%h ';
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', qq{
shared_preload_libraries = 'auto_explain, clocktiming'
logging_collector = on
log_destination = 'stderr,csvlog,jsonlog'
log_directory = 'log'
log_filename = 'log'
log_rotation_age = 0
log_line_prefix = '$prefix'
log_statement = none
log_duration = off
lc_messages = 'C'
autovacuum = off
jit = off
auto_explain.log_analyze = on
auto_explain.log_triggers = on
auto_explain.log_buffers = on
max_parallel_workers_per_gather = 0
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k, md5(i::text) AS s FROM generate_series(1, 20000) AS i;
	CREATE TABLE b AS SELECT i, i % 50 AS k FROM generate_series(1, 5000) AS i;
	CREATE TABLE w (i integer);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
	CREATE TRIGGER note AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION note();
	VACUUM ANALYZE a, b;
});

# Runs SQL with psql and returns its output. $settings are settings of the session, such as jit=on.
# $options are command-line options of psql.
sub psql
{
	my ($settings, $options, $sql) = @_;
	my ($out, $err) = ('', '');

	local $ENV{PGOPTIONS} = join ' ', map { "-c $_" } @$settings;
	IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @$options, '-d', $node->connstr('postgres'), '-c', $sql ], '>', \$out, '2>', \$err)
	  or die "$sql: $err";
	return $out;
}

my @aligned = ();
my @unaligned = qw(-A -t);

# Returns the figures of a node as a text.
sub figures
{
	my ($startup, $total, $rows, $loops) = @_;
	return 'never executed' if !$loops;
	return sprintf('%.3f..%.3f rows=%g loops=%d', $startup, $total, $rows, $loops);
}

# The next functions return a text for each node of a plan, with its figures and those of its parent.
# In the text format, the parent follows from the indentation. The plan of a CTE has no parent,
# because viewers show it separately.
sub nodes_of_text
{
	my ($text) = @_;
	my (@above, @nodes, $cte, $margins);

	foreach (split /\n/, $text)
	{
		s/\t/    /g;
		if (/^( *)(?:->  )?(\S.*?)  (?:\(cost=\S+ rows=\d+ width=\d+\) )?\((?:actual time=([\d.]+?)\.\.([\d.]+) rows=([\d.]+) loops=(\d+)|never executed)\)$/)
		{
			my $figures = figures($3, $4, $5, $6);

			pop @above while @above && $above[-1][0] >= length $1;
			push @nodes, "$figures in " . (@above && !$cte ? $above[-1][1] : 'none');
			push @above, [ length $1, $figures ];
			$cte = 0;
		}
		elsif (/^( *)(?:(CTE) \S+|(?:Init|Sub)Plan .*)$/)
		{
			$cte = defined $2;
			pop @above while @above && $above[-1][0] >= length $1;
		}
		$margins .= "$1\n" if /^  +(Clock: .*)/;
	}
	return { nodes => join("\n", sort @nodes), margins => $margins // '' };
}

sub nodes_of_json
{
	my ($plan, $parent) = @_;
	my $figures = figures(map { $plan->{"Actual $_"} } 'Startup Time', 'Total Time', 'Rows', 'Loops');
	my $apart = ($plan->{'Subplan Name'} // '') =~ /^CTE /;

	return ("$figures in " . ($apart ? 'none' : $parent // 'none'), map { nodes_of_json($_, $figures) } @{ $plan->{Plans} || [] });
}

sub margins_of_json
{
	my ($plan) = @_;

	return (JSON::PP->new->canonical->encode({ map { $_ => $plan->{$_} } grep { /^Clock/ } keys %$plan }),
		map { margins_of_json($_) } @{ $plan->{Plans} || [] });
}

# Returns the figures that a viewer must show for a plan.
sub expected
{
	my ($source) = @_;

	if ($source =~ /^\s*(\[.*\]|\{.*\})\s*\z/ms)
	{
		my $json = decode_json($1);

		$json = $json->[0] if ref $json eq 'ARRAY';
		return {
			nodes => join("\n", sort(nodes_of_json($json->{Plan}))),
			margins => join("\n", sort(margins_of_json($json->{Plan}))),
			planning => $json->{'Planning Time'},
			execution => $json->{'Execution Time'},
			triggers => scalar(@{ $json->{Triggers} || [] }) };
	}
	my $expected = nodes_of_text($source);

	($expected->{planning}) = $source =~ /^ ?Planning Time: ([\d.]+) ms/m;
	($expected->{execution}) = $source =~ /^ ?Execution Time: ([\d.]+) ms/m;
	$expected->{triggers} = () = $source =~ /^\s?Trigger \S+: time=/mg;
	return $expected;
}

# Plans from all functions and statements that print plans

my $parallel = [ 'parallel_setup_cost=0', 'parallel_tuple_cost=0', 'min_parallel_table_scan_size=0', 'max_parallel_workers_per_gather=2' ];
my %queries = (
	joins => [ [], 'SELECT b.k, count(*) FROM a JOIN b USING (i) GROUP BY b.k ORDER BY b.k' ],
	subplans => [ [], 'WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT x.k, (SELECT max(i) FROM b WHERE b.k = x.k)'
		  . ' FROM c AS x JOIN c AS y USING (k) WHERE x.n > (SELECT min(i) FROM b)' ],
	never => [ ['enable_hashjoin=off', 'enable_mergejoin=off'], 'SELECT * FROM a JOIN b USING (i) WHERE a.s = $$none$$' ],
	parallel => [ $parallel, 'SELECT count(*) FROM a WHERE k < 50' ],
	trigger => [ [], 'INSERT INTO w SELECT i FROM b WHERE i <= 50' ]);
my @plans;		# each with name, source, expected

sub keep
{
	my ($name, $source) = @_;
	my $expected = expected($source);

	cmp_ok($expected->{nodes} =~ tr/\n//, '>=', 1, "$name: more than one node") or diag $source;
	push @plans, { name => $name, source => $source, expected => $expected };
	return;
}

$queries{jit} = [ [ 'jit=on', 'jit_above_cost=0' ], 'SELECT sum(i) FROM a WHERE k < 50' ] if psql(['jit=on'], \@unaligned, 'SELECT pg_jit_available()') eq "t\n";
foreach my $name (sort keys %queries)
{
	my ($settings, $query) = @{ $queries{$name} };
	my $writes = $name eq 'trigger' ? ', allow_writes => true' : '';
	my @settings = (@$settings, 'clocktiming.sampled_timing=on');

	foreach my $options (\@aligned, \@unaligned)
	{
		my $how = "@$options";

		keep("$name, clock_explain_text $how", psql($settings, $options, "SELECT clock_explain_text(\$q\$$query\$q\$$writes)"));
		foreach my $margins ('off', 'on')
		{
			my @set = (@settings, "clocktiming.show_margins=$margins");
			keep("$name, EXPLAIN, show_margins = $margins, $_ $how", psql(\@set, $options, "EXPLAIN (ANALYZE, $_) $query")) for 'SUMMARY ON', 'SUMMARY OFF', 'BUFFERS, VERBOSE';
		}
		next if $options == \@aligned;
		keep("$name, clock_explain_json", psql($settings, $options, "SELECT clock_explain_json(\$q\$$query\$q\$$writes)"));
		keep("$name, EXPLAIN, show_margins = $_, JSON", psql([ @settings, "clocktiming.show_margins=$_" ], $options, "EXPLAIN (ANALYZE, FORMAT JSON) $query")) for 'off', 'on';
	}

	# Plans from the log, with and without the line "duration: ... plan:" that precedes them
	foreach my $format ('text', 'json')
	{
		my $log = $node->data_dir . '/log/log';
		my $offset = -s $log;
		psql([ @$settings, 'clocktiming.sampled_timing=auto_explain', 'clocktiming.show_margins=on', 'auto_explain.log_min_duration=0', "auto_explain.log_format=$format" ],
			\@unaligned, $query);
		$node->poll_query_until('postgres', "SELECT pg_read_file('log/log', $offset, 1000000) ~ 'duration: .*plan:\\n(\\t.*\\n)+'") or die 'nothing is logged';
		my ($entry, $plan) = slurp_file($log, $offset) =~ /^([^\t\n]*duration: \S+ ms  plan:\n((?:\t.*\n)+))/m;
		keep("$name, auto_explain, $format", $plan);
		keep("$name, auto_explain, $format, with the line of the log", $entry) if $format eq 'text';
	}
}
my $from_text = grep { $_->{source} !~ /"Plan":/ } @plans;
cmp_ok($from_text, '>', 50, 'plans as text');
cmp_ok(@plans - $from_text, '>', 15, 'plans as JSON');

sub same
{
	my ($plan, $what, $got, $expected) = @_;

	is($got, $expected, "$plan->{name}: $what") or diag $plan->{source};
	return;
}

#
# pev2
#

SKIP:
{
	skip 'there is no pev2', 1 if $missing{'pev2 and node (make test-companions fetches pev2)'};
	my ($out, $err) = ('', '');
	my $in = encode_json([ map { $_->{source} } @plans ]);

	IPC::Run::run([ $javascript, __FILE__ =~ s/[^\/]*\z/pev2.js/r, $pev2 ], '<', \$in, '>', \$out, '2>', \$err) or die substr($err, -1000);
	my $parsed = decode_json($out);
	foreach my $plan (@plans)
	{
		my $got = shift @$parsed;
		my $what = 'pev2';
		my $json = $plan->{source} =~ /"Plan":/;

		isnt($got, undef, "$plan->{name}: pev2 parses it") or next;
		my @nodes = @{ $got->{nodes} };
		my @figures = map { figures(map { $_ // 0 } @$_{qw(startup total rows loops)}) } @nodes;
		same($plan, 'pev2: nodes', join("\n", sort map { "$figures[$_] in " . (defined $nodes[$_]{parent} ? $figures[ $nodes[$_]{parent} ] : 'none') } 0 .. $#nodes), $plan->{expected}{nodes});
		if ($json)
		{
			same($plan, 'pev2: margins', join("\n", sort map { JSON::PP->new->canonical->encode($_->{clock}) } @nodes), $plan->{expected}{margins});
		}
		else
		{
			# pev2 shows the unit in another element.
			my @margins = map { s/ ms\z//r } split /\n/, $plan->{expected}{margins};
			same($plan, 'pev2: margins', join("\n", sort map { "Clock: $_->{clock}{Clock}" } grep { defined $_->{clock}{Clock} } @nodes), join("\n", sort @margins));
		}
		same($plan, 'pev2: planning time', $got->{planningTime}, defined $plan->{expected}{planning} ? $plan->{expected}{planning} + 0 : undef);
		same($plan, 'pev2: execution time', $got->{executionTime}, defined $plan->{expected}{execution} ? $plan->{expected}{execution} + 0 : undef);
		same($plan, 'pev2: triggers', $got->{triggers}, $plan->{expected}{triggers});
	}
}

# Margins that pev2 shows when a row of its table is expanded: all except zeros
SKIP:
{
	skip 'there is no pev2', 1 if $missing{'pev2 and node (make test-companions fetches pev2)'};
	diag 'SKIPPED: what pev2 shows of margins, as there is no Chromium' unless $chromium;
	skip 'there is no Chromium', 1 unless $chromium;
	foreach my $plan (grep { $_->{name} =~ /^(joins|never), (clock_explain_json|EXPLAIN, show_margins = on, SUMMARY ON -A -t)$/ } @plans)
	{
		my $dir = PostgreSQL::Test::Utils::tempdir();
		my $source = JSON::PP->new->allow_nonref->encode($plan->{source}) =~ s/</\\u003c/gr;
		my ($out, $err) = ('', '');

		append_to_file("$dir/page.html", <<"END");
<!DOCTYPE html><meta charset="utf-8"><div id="app"><pev2 :plan-source="plan" plan-query=""/></div>
<script src="file://$pev2/vue.global.prod.js"></script><script src="file://$pev2/pev2.umd.js"></script>
<script>
const app = Vue.createApp({ data() { return { plan: $source } } })
app.component('pev2', pev2.Plan)
app.mount('#app')
const settled = () => new Promise(done => setTimeout(done, 500))
addEventListener('load', async () => {
	await settled()
	location.hash = '#grid'
	await settled()
	document.querySelectorAll('tr.node:has(a[href^="#plan/node/"])').forEach(row => row.click())
	await settled()
	const rows = [...document.querySelectorAll('.prop-list tr')].map(row => [...row.cells].map(cell => cell.textContent.trim()).join(': '))
	document.documentElement.innerHTML = '<pre>shown:' + rows.filter(row => row.startsWith('Clock')).sort().join('|') + '</pre>'
})
</script>
END
		{
			local $ENV{HOME} = $dir;
			IPC::Run::run([ $chromium, qw(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --virtual-time-budget=10000 --dump-dom), "--user-data-dir=$dir/profile", "file://$dir/page.html" ],
				'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		}
		my ($shown) = $out =~ /shown:(.*)<\/pre>/s;
		my @margins = split /\n/, $plan->{expected}{margins};
		my @properties = $plan->{source} =~ /"Plan":/ ? (map { my $p = decode_json($_); map { "$_: $p->{$_}" } grep { $p->{$_} } keys %$p } @margins) : (map { s/ ms\z//r } @margins);
		is($shown, join('|', sort @properties), "$plan->{name}: pev2 shows margins") or diag $out;
	}
}

#
# Pg::Explain
#

sub nodes_of_pg_explain
{
	my ($got, $parent) = @_;
	my $figures = figures($got->actual_time_first // 0, $got->actual_time_last // 0, $got->actual_rows // 0, $got->never_executed ? 0 : $got->actual_loops);

	return ("$figures in " . ($parent // 'none'),
		(map { nodes_of_pg_explain($_, $figures) } map { @{ $_ || [] } } $got->sub_nodes, $got->initplans, $got->subplans),
		(map { nodes_of_pg_explain($_) } values %{ $got->ctes || {} }));
}

SKIP:
{
	skip 'there is no Pg::Explain', 1 if !$pg_explain;
	# Skips JSON objects, because Pg::Explain requires a list.
	foreach my $plan (grep { $_->{source} !~ /^\s*\{/ } @plans)
	{
		my $got = eval { Pg::Explain->new(source => $plan->{source}) };
		my $top = eval { $got->top_node };

		ok($top, "$plan->{name}: Pg::Explain parses it") or diag($@, $plan->{source}), next;
		same($plan, 'Pg::Explain: nodes', join("\n", sort(nodes_of_pg_explain($top))), $plan->{expected}{nodes});
		foreach my $time (grep { $got->can("${_}_time") } qw(planning execution))
		{
			same($plan, "Pg::Explain: $time time", $got->can("${time}_time")->($got), $plan->{expected}{$time});
		}
		same($plan, 'Pg::Explain: triggers', scalar(@{ $got->trigger_times || [] }), $plan->{expected}{triggers}) if $got->can('trigger_times');
	}
}

#
# pgBadger
#

# Reports of pgBadger. From logs in text format, they show plans together with their queries. From
# logs in CSV and JSON, they show plans instead of queries. Reports with and without clocktiming
# must differ only in figures.
SKIP:
{
	skip 'there is no pgBadger', 1 if !$pgbadger;
	my @ways = ([ 'server', 'off', 'off' ], [ 'sampled', 'auto_explain', 'off' ], [ 'margins', 'on', 'on' ]);
	my $dir = $node->data_dir . '/log';
	my $new = PostgreSQL::Test::Utils::tempdir();
	my %log = (stderr => 'log', csv => 'log.csv', jsonlog => 'log.json');
	my (%duration, %plan, %offset);

	# pgBadger reads the log from this statement on. Reading the hundreds of plans before it would
	# take long.
	psql(['auto_explain.log_min_duration=0'], \@unaligned, 'SELECT 1 AS begins_here');
	foreach my $file (values %log)
	{
		$node->poll_query_until('postgres', "SELECT pg_read_file('log/$file') ~ 'AS begins_here\\M(.*\n)*.*Result(.*\n)+'") or die "nothing is logged in $file";
		$offset{$file} = -s "$dir/$file";
	}
	foreach my $way (@ways)
	{
		my ($name, $sampled, $margins) = @$way;
		foreach my $format (qw(text json))
		{
			psql([ "clocktiming.sampled_timing=$sampled", "clocktiming.show_margins=$margins", 'auto_explain.log_min_duration=0', "auto_explain.log_format=$format" ], \@unaligned,
				"SELECT count(*) AS ${name}_$format FROM a JOIN b USING (i)");
		}
	}
	# Waits until the last statement is in all three logs.
	foreach my $file (values %log)
	{
		$node->poll_query_until('postgres', "SELECT pg_read_file('log/$file') ~ 'AS margins_json FROM (.*\n)*.*Actual Loops(.*\n)+'") or die "nothing is logged in $file";
		append_to_file("$new/$file", slurp_file("$dir/$file", $offset{$file}));
	}
	my $text = slurp_file("$new/log");
	while ($text =~ /^[^\t\n]*duration: (\S+) ms  plan:\n((?:\t.*\n)+)/mg)
	{
		my ($ms, $plan) = ($1, $2);
		my ($alias) = $plan =~ /AS ((?:server|sampled|margins)_(?:text|json)) FROM/ or next;
		($duration{$alias}, $plan{$alias}) = ($ms, $plan);
	}
	is(scalar(keys %plan), 6, 'plans for pgBadger are logged');

	foreach my $log (sort keys %log)
	{
		my $report = PostgreSQL::Test::Utils::tempdir() . '/report';
		my @options = ('-q', '-f', $log, $log eq 'stderr' ? ('-p', $prefix) : ());
		my ($out, $err) = ('', '');
		my %found;

		foreach my $as (qw(json html))
		{
			ok(IPC::Run::run([ $pgbadger, @options, '-x', $as, '-o', "$report.$as", "$new/$log{$log}" ], '<', \undef, '>', \$out, '2>', \$err), "pgBadger, $log, $as");
			is($err, '', "pgBadger, $log, $as: no messages");
		}
		my $html = slurp_file("$report.html");
		my $all = decode_json(slurp_file("$report.json"))->{normalyzed_info}{postgres};
		foreach my $sample (map { $_->{samples} } values %$all)
		{
			foreach my $ms (keys %$sample)
			{
				my $query = join "\n", grep { defined } @{ $sample->{$ms} }{qw(query plan)};
				my ($alias) = $query =~ /AS ((?:server|sampled|margins)_(?:text|json)) FROM/ or next;
				$found{$alias} = { ms => $ms, query => $query };
			}
		}
		is(join(' ', sort keys %found), join(' ', sort keys %plan), "pgBadger, $log: has the queries");
		foreach my $alias (sort keys %found)
		{
			my @figures = $plan{$alias} =~ /(actual time=\S+ rows=\S+ loops=\d+|"Actual (?:Startup Time|Total Time|Rows|Loops)": [\d.]+)/g;

			is($found{$alias}{ms} + 0, $duration{$alias} + 0, "pgBadger, $log, $alias: duration");
			is(join("\n", $found{$alias}{query} =~ /(actual time=\S+ rows=\S+ loops=\d+|"Actual (?:Startup Time|Total Time|Rows|Loops)": [\d.]+)/g), join("\n", @figures),
				"pgBadger, $log, $alias: times, rows and loops of its nodes");
			cmp_ok(scalar(@figures), '>=', 4, "pgBadger, $log, $alias: at least four figures");
			my ($by_server) = map { s/[\d.]+|server/N/gr } $found{ $alias =~ s/.*_/server_/r }{query};
			is($found{$alias}{query} =~ s/[\d.]+|sampled|margins|server/N/gr, $by_server, "pgBadger, $log, $alias: as without clocktiming, except for figures");
			like($html, qr/AS<?[^>]*>?\s+$alias/, "pgBadger, $log, $alias: in the report");
		}
	}
}

done_testing();
