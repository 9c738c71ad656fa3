
# Advice and checks: what is wrong with a clock is said, and what is right is
# not complained of.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $dir = $ENV{CLOCKTIMING_SHIM_DIR} || '';
plan skip_all => "no $dir/slow_clock.so: say by CLOCKTIMING_SHIM_DIR where it is"
  unless -f "$dir/slow_clock.so";

my @checks = (
	'system clock',
	'kernel clock source',
	'clock of EXPLAIN ANALYZE',
	'TSC frequency',
	'invariant TSC',
	'skew between CPUs',
	'backward steps',
	'steadiness',
	'time off the CPU');
my $checks = 'cost,backward_steps,warps,lags,drift,skew,gaps';

# A server whose clock_gettime() is that of a shim, if any.
sub start
{
	my ($name, $config, %environment) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', $config);
	{
		local %ENV = (%ENV, %environment);
		$node->start;
	}
	$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
	return $node;
}

# Rows of clock_advice by check.
sub advice
{
	my ($session) = @_;
	my $result = $session->query(
		q{SELECT check_name, severity, finding, evidence,
			coalesce(do_now, ''), coalesce(do_persistently, ''), coalesce(ask_provider, '')
			FROM clock_advice});
	my %rows;
	my @order;

	is($result->{state}, '00000', 'clock_advice answers');
	foreach my $line (split /\n/, $result->{out})
	{
		my ($check, @rest) = split /\|/, $line, -1;
		push @order, $check;
		@{ $rows{$check} }{qw(severity finding evidence now persistently provider)} = @rest;
	}
	is_deeply(\@order, \@checks, 'all checks in their order');
	return \%rows;
}

sub failed
{
	my ($session, $arguments) = @_;
	my $result = $session->query(
		qq{SELECT string_agg(check_name, ','), string_agg(check_name, ',') FILTER (WHERE NOT ok)
			FROM clock_check($arguments)});
	my ($all, $failed) = split /\|/, $result->{out};

	is($all, $checks, "clock_check($arguments): all checks in their order");
	return $failed // '';
}

# An honest clock.  How much time others take is theirs to know.
{
	my $node = start('honest', '');
	my $session = ClockSession->new($node);
	my $rows = advice($session);

	foreach my $check ('backward steps', 'steadiness', 'skew between CPUs')
	{
		is($rows->{$check}{severity}, 'ok', "honest: $check")
		  or diag "$rows->{$check}{finding}: $rows->{$check}{evidence}";
	}
	foreach my $check (grep { $rows->{$_}{severity} eq 'ok' } @checks)
	{
		is($rows->{$check}{now}, '', "honest: nothing to do for $check");
	}
	is(failed($session, q{max_cost_ns => 'infinity', max_lost_percent => 100}),
		'', 'honest: every check is passed');
	is(failed($session, q{0, 'infinity', 'infinity', 'infinity'}),
		'cost', 'no reading is free');
	$session->quit;
	$node->stop;
}

# A system clock that costs a system call, and no worker for the skew
{
	my $node = start('slow', "max_worker_processes = 0\n", LD_PRELOAD => "$dir/slow_clock.so");
	my $session = ClockSession->new($node);
	my $rows;

	# that of the server must be the slow one, too
	$session->query(
		q{SELECT set_config('timing_clock_source', 'system', false)
			FROM pg_settings WHERE name = 'timing_clock_source'});
	$rows = advice($session);
	is( $session->query(q{SELECT read_by FROM clock_survey('{system}', duration => 0.2)})->{out},
		'system call', 'slow: how it is read');
	is($rows->{'system clock'}{severity}, 'warning', 'slow: a warning');
	like($rows->{'system clock'}{finding}, qr/costs a system call/, 'slow: what is wrong');
	like($rows->{'system clock'}{evidence}, qr/^\d+\.\d ns a reading, the cheapest system call \d+\.\d ns/,
		'slow: by these figures');
	like($rows->{'system clock'}{provider}, qr/instance type/, 'slow: what to ask for');
	is(failed($session, q{1, 'infinity', 'infinity', 'infinity'}),
		'cost', 'slow: the check of the cost fails');

	is($rows->{'skew between CPUs'}{severity}, 'notice', 'no worker: a notice')
	  if $rows->{'skew between CPUs'}{evidence} !~ /one CPU/;
	is(failed($session, q{'infinity', 1e9, 'infinity', 'infinity'}),
		$rows->{'skew between CPUs'}{evidence} =~ /one CPU/ ? '' : 'skew',
		'no worker: what cannot be found is no pass');
	is(failed($session, q{'infinity', 'infinity', 'infinity', 'infinity'}),
		'', 'no worker: unless it is left out');
	is($session->query('SELECT 1')->{out}, '1', 'the session goes on');

	# the server chose to read the slow clock
	if ($node->pg_version->major >= 19
		&& $session->query(q{SELECT available FROM clock_sources WHERE source = 'rdtsc'})->{out} eq 't')
	{
		is($rows->{'clock of EXPLAIN ANALYZE'}{severity}, 'notice', 'the TSC would be faster');
		like($rows->{'clock of EXPLAIN ANALYZE'}{persistently}, qr/ALTER SYSTEM/, 'and how to have it');
	}
	$session->quit;
	$node->stop;
}

# A clock that goes back, and one that jumps: see fake_clock.c for the words
SKIP:
{
	skip 'no fake_clock.so', 1 unless -f "$dir/fake_clock.so";
	my $control = PostgreSQL::Test::Utils::tempdir() . '/fake_clock';
	my $node;
	my $generation = 0;

	my $write = sub {
		# in place: who has it mapped would be killed by reading what was cut off
		open(my $fh, -e $control ? '+<' : '>', $control) or die "$control: $!";
		syswrite($fh, pack('q16', @_, (0) x (16 - @_))) == 128 or die "$control: $!";
		close($fh);
	};
	$write->(0);
	$node = start('liar', '', LD_PRELOAD => "$dir/fake_clock.so", FAKE_CLOCK_CONTROL => $control);
	foreach my $fault (
		[ 'back', 1, 5000, 'backward steps', 'backward_steps' ],
		[ 'jump', 5, 50000, 'steadiness', 'warps' ],
		[ 'fast', 6, 2000, 'steadiness', 'drift' ])
	{
		my ($what, $kind, $size, $check, $failed) = @$fault;
		my $session = ClockSession->new($node);
		my $rows;

		$session->query(
			q{SELECT set_config('timing_clock_source', 'system', false)
				FROM pg_settings WHERE name = 'timing_clock_source'});
		# a clock that is fast is so from the first fault on
		$write->(++$generation, $session->pid, $kind, 2, 20000,
			$what eq 'fast' ? 1 : 1000000000, $size);
		$rows = advice($session);
		is($rows->{$check}{severity}, 'warning', "$what: a warning");
		like($rows->{$check}{evidence}, qr/system/, "$what: of the system clock");
		isnt($rows->{$check}{provider}, '', "$what: what to ask for");
		like(
			failed($session, q{'infinity', 'infinity', 600, 'infinity'}),
			qr/\b$failed\b/, "$what: the check fails");
		$write->(++$generation, 0);
		$session->quit;
	}
	$node->stop;
}

done_testing();
