
# The portable edition on machines with other clocks: where time passes several times as fast as the
# process's CPU time, with a short statement_timeout; and where clock_timestamp() advances in steps
# of a millisecond.

use strict;
use warnings;

use JSON::PP;
use List::Util 'max';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;
use PortableEdition;

my $busy = ClockShim->new('busy_time', 2);
my $coarse = ClockShim->new('coarse_day');
my $node = PostgreSQL::Test::Cluster->new('main');

sub session
{
	my $session = ClockSession->new($node);

	$session->query('SET search_path = clock');
	return $session;
}

$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nautovacuum = off");
$busy->start($node);
$node->safe_psql('postgres', 'CREATE SCHEMA clock');
my $session = session();
like(PortableEdition::install($session)->{err}, qr/is installed in schema clock\n/, 'installed');

# CPU time of a process in s; 0 if the kernel does not tell it
sub cpu_s
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/schedstat" or return 0;
	return (split ' ', <$file>)[0] / 1e9;
}

# Returns the CPU time of known work in s. It is about 0.04 s on a calm machine of 2020.
sub known_work_s
{
	my ($worker) = @_;
	my $before = cpu_s($worker->pid);

	$worker->query(q{SELECT count(DISTINCT length(ltrim(i::bit(64)::text, '0'))) FROM generate_series(1, 100000) AS i});
	return cpu_s($worker->pid) - $before;
}

# A busy machine: a second passes in 0.25 s of CPU time. Every call returns its result in time. Where
# the same work needs more CPU time, because of assertions or of what else the processor does, the
# timeout is longer in proportion. Other processes can disturb the processor for a moment, so a
# call that was cancelled is repeated, at most twice.
my @calls = PortableEdition::calls($session, 'clock', 1);
foreach my $ms (700, 1000, 1500)
{
	# a new session, in which each function is compiled at its first call
	my $short = session();

	$busy->write(0, $short->pid, 4);
	foreach my $call (@calls)
	{
		my ($result, $tries, $timeout);

		do
		{
			$timeout = int($ms * max(1, known_work_s($short) / 0.04));
			$result = $short->query_with_timeout($timeout, $call);
		} while ($result->{state} eq '57014' && ++$tries < 3);
		is($result->{state}, '00000', "busy machine, $ms ms: $call") or diag "$timeout ms: $result->{err}";
		unlike($result->{err}, qr/instead of \S{5}/, 'notices have rounded durations');
	}
	$busy->write(0, 0);
	$short->quit;
}
$session->quit;
$node->stop;

# Steps of a millisecond
$coarse->start($node);
$session = session();
is($session->query('SELECT internal_clock_step()')->{out}, '1000', 'steps of 1000 us');
PortableEdition::all_work($session, 'clock', 'steps of a millisecond');
my $sample = decode_json($session->query(q{SELECT clock_measure('system', 0.3)})->{out});
my @steps = grep { $sample->{ticks}[$_] > 0 } 0 .. $#{ $sample->{ticks} };
my $gaps = 0;
is(scalar(grep { $sample->{ticks}[$_] % 1000 } @steps), 0, 'a sample: all durations are multiples of the step');
$gaps += $sample->{counts}[$_] foreach grep { $sample->{ticks}[$_] >= 2000 } @steps;
is($sample->{gaps}, $gaps, 'a sample: a single step is not a gap');
is($sample->{granularity_ticks}, 1000, 'a sample: granularity');
is( $session->query(q{SELECT min_ns, p50_ns, p90_ns, granularity_ns FROM clock_summary('{"frequency_hz": 1000000,
		"granularity_ticks": 1000, "ticks": [0, 1000], "counts": [99, 1]}'::jsonb)})->{out},
	'|||1000000.00', 'a summary: quantiles below two steps are NULL');
like($session->query(q{SELECT string_agg(note, '; ') FROM clock_histogram('system', 0.2)})->{out},
	qr/^below 1000 us, only the mean .*; the clock advanced by 1000 us, but/, 'a histogram: notes state the step');

# A query that takes a small part of a step. The duration of its plain execution is not a multiple of
# the step, and is that of EXPLAIN, up to the cost of counting and other processes.
my $times = $session->query(
	q{SELECT min(min_ms) FILTER (WHERE mode = 'plain') BETWEEN 0.001 AND 10 * min(min_ms) FILTER (WHERE mode = 'timing off')
		FROM clock_query_overhead('SELECT count(*) FROM generate_series(1, 1000)', 1)});
is($times->{out}, 't', 'a query shorter than a step has a duration') or diag $times->{err};
is($session->query(q{SELECT plain_ms > 0 FROM clock_explain('SELECT count(*) FROM generate_series(1, 1000)') WHERE node = 0})->{out},
	't', 'clock_explain: also in its plain execution');
$session->query('CREATE TABLE t AS SELECT 1 AS i');
is( $session->query(q{SELECT count(*) FROM clock_query_overhead('UPDATE t SET i = 2', 0.3, allow_writes => true)})->{out},
	'4', 'a statement that writes');
is($session->query('SELECT i FROM t')->{out}, '1', 'its changes are rolled back');
$session->quit;
$node->stop;

done_testing();
