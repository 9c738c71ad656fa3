
# Extensions that replace the functions of plan nodes, as pg_tracing does
# (test/module/node_tracer.c), loaded before or after clocktiming. Nothing may crash, and rows must
# be correct, also for statements in functions.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $module = ($ENV{CLOCKTIMING_SHIM_DIR} || '') . '/../module/node_tracer.so';
plan skip_all => "no $module: say by CLOCKTIMING_SHIM_DIR where the shims are" unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k FROM generate_series(1, 5000) AS i;
	CREATE FUNCTION inner_count(n integer) RETURNS bigint LANGUAGE plpgsql AS
		$$BEGIN RETURN (SELECT count(*) FROM a AS x JOIN a AS y USING (i) WHERE x.k < n); END$$;
	CREATE INDEX ON a (i);
	CREATE FUNCTION explain(n integer) RETURNS integer LANGUAGE c STABLE COST 1 AS '} . $module . q{', 'node_tracer_explain';
	CREATE FUNCTION explained() RETURNS text LANGUAGE c AS '} . $module . q{', 'node_tracer_plan';
	ANALYZE;
});

# Queries, and the rows of their nodes. In the second and the third query, clocktiming samples the
# statement in inner_count(), but not the query itself, because the planner expects only few calls
# of its nodes. inner_count() runs within a call of one of these nodes.
my @queries = (
	[ 'SELECT x.i FROM a AS x JOIN a AS y USING (i) WHERE x.k < 25', 'Hash Join 1250, Seq Scan 5000, Hash 1250, Seq Scan 1250' ],
	[ 'SELECT inner_count(25) UNION ALL SELECT 1', 'Append 2, Result 1, Result 1' ],
	[ 'SELECT inner_count(25) FROM generate_series(1, 3) UNION ALL SELECT i FROM a WHERE i < 3', 'Append 5, Function Scan 3, Seq Scan 2' ],
	[ 'SELECT k, inner_count(k) FROM a WHERE i <= 20 ORDER BY k LIMIT 5', 'Limit 5, Result 5, Sort 5, Seq Scan 20' ]);

sub rows
{
	my ($plan) = @_;
	return ("$plan->{'Node Type'} " . ($plan->{'Actual Rows'} // '') * ($plan->{'Actual Loops'} // 0), map { rows($_) } @{ $plan->{Plans} || [] });
}

sub rows_of
{
	my ($session, $query) = @_;
	my $result = $session->query("EXPLAIN (ANALYZE, FORMAT json) $query");
	my $plan = eval { decode_json($result->{out})->[0]{Plan} };

	return defined $plan ? join(', ', rows($plan)) : "$result->{state} $result->{err}";
}

# Rows of the nodes of each query, without the module. The plans depend on the version of the
# server.
my %expected;
{
	my $session = ClockSession->new($node);
	$expected{ $_->[0] } = rows_of($session, $_->[0]) foreach @queries;
	is($expected{ $queries[0][0] }, $queries[0][1], 'rows without the module');
	$session->quit;
}

foreach my $libraries ("$module,clocktiming", "clocktiming,$module")
{
	my $order = $libraries =~ /^clocktiming/ ? 'after clocktiming' : 'before clocktiming';
	my $started;

	# With this setting, clocktiming installs its hooks when it is loaded.
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'\nclocktiming.sampled_timing = on");
	$node->restart;
	$started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
	# Modes of the module. In the mode "share", nodes share their instrumentation. Then the server's
	# own timers raise errors, so rows are not compared.
	foreach my $mode (qw(off one each wrap share own))
	{
		foreach my $sampled ('on', 'off')
		{
			my $session = ClockSession->new($node);

			$session->query("SET node_tracer.mode = $mode; SET clocktiming.sampled_timing = $sampled; SET clocktiming.sampled_counting = $sampled");
			foreach my $query (map { $_->[0] } @queries)
			{
				my $what = "$mode, $order, sampled_timing = $sampled: $query";

				# Executes each query twice, because the second execution may call functions that
				# the module stored in the first one.
				for my $time (1 .. 2)
				{
					my $result = $session->query("SELECT count(*) FROM ($query) AS q");
					is($result->{state}, '00000', $what) or diag($result->{err});
					is(rows_of($session, $query), $expected{$query}, "$what: rows") if $mode ne 'share';
				}
			}
			$session->quit;
		}
	}
	is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, "$order: the server has not crashed");

	# If the module prevents clocktiming's wrappers from being called, the times are those of the
	# server, and there is a warning.
	my $session = ClockSession->new($node);
	# Each row of the scan takes 10 ms, because an estimate of a short time may be 0.
	my $explain = 'EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM (SELECT FROM a WHERE i <= 3 AND pg_sleep(0.01) IS NOT NULL OFFSET 0) AS q';
	my $replaced = qr/^WARNING:  times of plan nodes are measured by the server, not estimated by sampling\nDETAIL:  Another extension replaces the functions that execute plan nodes\.$/m;

	$session->query('SET node_tracer.mode = own');
	my $result = $session->query($explain);
	if ($order eq 'before clocktiming') { like($result->{err}, $replaced, "$order: a warning"); }
	else { unlike($result->{err}, $replaced, "$order: no warning where the module's functions are replaced"); }
	unlike($result->{out}, qr/never executed/, "$order: nodes were executed");
	like($result->{out}, qr/^ *->  .*Scan .*\(actual time=(?!0\.000\.\.0\.000)/m, "$order: nodes were timed");
	$session->query('SET node_tracer.mode = wrap');
	$result = $session->query($explain);
	unlike($result->{err}, $replaced, "$order: no warning where all calls come through");
	$session->quit;
}

# An extension that explains the plan while it is executed. Rows and loops must be those that the
# server shows without clocktiming: EXPLAIN ends the loops of all nodes, so that the server counts
# each part as a loop. explain_at(i, n) explains the plan when i is a multiple of n.
$node->safe_psql('postgres', q{CREATE FUNCTION explain_at(i integer, n integer) RETURNS integer LANGUAGE sql STABLE COST 1
	AS 'SELECT CASE WHEN $1 % $2 = 0 THEN explain($1) ELSE $1 END'});
my @read = (
	'SELECT count(*) FROM a WHERE f(i, n) > 0',
	'SELECT f(i, n) FROM a WHERE k > 5',
	'SELECT f(i, n) FROM a ORDER BY k LIMIT 4000',
	'SELECT x.i FROM a AS x JOIN a AS y USING (i) WHERE f(y.k, n) + f(x.k, n) >= 0',
	'SELECT x.i FROM a AS x, LATERAL (SELECT k FROM a AS y WHERE y.i = x.i AND f(y.i, n) > 0 OFFSET 0) AS y WHERE f(x.i, n) > 0',
	'SELECT i FROM a WHERE f(i, n) > 0 AND (SELECT count(*) FROM a AS b WHERE b.i IN (a.i, a.i + 1) AND f(b.i, n) > 0) > 0',
	'SELECT k, sum(f(i, n)) FROM a GROUP BY k HAVING f(k, n) >= 0 ORDER BY k',
	'WITH c AS MATERIALIZED (SELECT f(i, n) AS i FROM a) SELECT count(*) FROM c JOIN (SELECT i FROM c LIMIT 1000) AS d USING (i) WHERE f(i, n) > 0',
	'SELECT i FROM a WHERE k = 1 UNION ALL SELECT f(i, n) FROM a WHERE k < 50');
sub nodes
{
	my ($text) = @_;
	return join("\n", map { /^( *(?:->  )?[A-Z][^(]*?) +\(actual (?:time=\S+ )?(rows=\S+ loops=\S+)\)/ ? "$1 $2" : /never executed/ ? $_ : () } split(/\n/, $text));
}
foreach my $sampled ('off', 'on')
{
	my $session = ClockSession->new($node);
	my $server = ClockSession->new($node);

	$_->query("SET enable_hashagg = on; SET enable_mergejoin = off") foreach $session, $server;
	$session->query("SET clocktiming.sampled_timing = $sampled; SET clocktiming.sampled_counting = $sampled");
	$server->query('SET clocktiming.sampled_timing = off; SET clocktiming.sampled_counting = off');
	foreach my $options ('BUFFERS off', 'BUFFERS on')
	{
		foreach my $query (@read)
		{
			(my $undisturbed = $query) =~ s/f\((\S+), n\)/abs($1)/g;

			foreach my $n (1, 2, 7, 97, 1999)
			{
				(my $read = $query) =~ s/f\((\S+), n\)/explain_at($1, $n)/g;
				my $what = "sampled_timing = $sampled, $options: $read";
				my $explain = $sampled eq 'on' ? "EXPLAIN (ANALYZE, COSTS off, SUMMARY off, $options)" : "EXPLAIN (ANALYZE, COSTS off, SUMMARY off, TIMING off, $options)";
				my $expected = nodes($session->query("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, $options) $undisturbed")->{out});
				my $result;

				if ($sampled eq 'on')
				{
					$result = $session->query("$explain $read");
					is(nodes($result->{out}), nodes($server->query("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, $options) $read")->{out}),
						"$what: explained meanwhile") or diag($result->{err});
				}
				next if $n > 1;
				$session->query('SET node_tracer.explain = on');
				$result = $session->query("$explain $undisturbed");
				$session->query('SET node_tracer.explain = off');
				is(nodes($result->{out}), $expected, "$what: explained before it ends");
				is(nodes($session->query('SELECT explained()')->{out}), $expected, "$what: rows and loops that the other extension saw");
			}
		}
	}
	$session->quit;
}
$node->stop;

done_testing();
