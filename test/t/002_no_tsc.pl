
# clocktiming works on a server whose processes may not read the time-stamp counter (TSC). If a
# process executes RDTSC, the kernel kills it, and the server then ends all sessions.

use strict;
use warnings;

use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('no_tsc');
plan skip_all => 'this is not an x86 processor'
  unless `uname -m` =~ /^(x86_64|i.86)$/;

my $node = PostgreSQL::Test::Cluster->new('main');
if ($node->pg_version->major >= 19)
{
	diag 'SKIPPED: PostgreSQL 19 reads the time-stamp counter itself';
	plan skip_all => 'PostgreSQL 19 reads the time-stamp counter itself';
}

# Checks that the kernel kills a process that executes RDTSC. Otherwise the test could not fail.
{
	my %environment = ($shim->environment, NO_TSC_PROGRAM => basename($^X));
	local @ENV{ keys %environment } = values %environment;

	is(system($^X, '-e', '1'), 0, 'a program that does not use RDTSC succeeds');
	local $ENV{NO_TSC_SELF_TEST} = 1;
	system($^X, '-e', '1');
	is($? & 127, 11, 'the kernel ends a process that uses RDTSC by SIGSEGV');
	BAIL_OUT('RDTSC is not forbidden') unless ($? & 127) == 11;
}

$node->init;

# OpenSSL also reads the TSC, as a source of entropy. OPENSSL_ia32cap clears the bit for the TSC in
# OpenSSL's copy of CPUID (leaf 1, EDX, bit 4), so that OpenSSL does not read it.
$shim->start($node, NO_TSC_PROGRAM => 'postgres', OPENSSL_ia32cap => '~0x10');
my $other = ClockSession->new($node);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

is( $node->safe_psql(
		'postgres', q{
		SELECT source, available, reason LIKE '%prctl(PR_SET_TSC, PR_TSC_SIGSEGV)%'
			FROM clock_sources
			WHERE source IN ('system', 'rdtscp', 'rdtsc', 'instr_time') ORDER BY 1}),
	"instr_time|t|\nrdtsc|f|t\nrdtscp|f|t\nsystem|t|",
	'clock_sources says what is not available, and why');
is( $node->safe_psql(
		'postgres', q{
		SELECT name, value, note LIKE '%prctl%' FROM clock_platform
			WHERE name IN ('tsc', 'rdtscp') ORDER BY 1}),
	"rdtscp|no|t\ntsc|no|t",
	'clock_platform says that the TSC is not available, and why');
is( $node->safe_psql(
		'postgres',
		q{SELECT value FROM clock_platform WHERE name = 'tsc_frequency_in_use_khz'}
	),
	'',
	'there is no TSC frequency');

my $session = ClockSession->new($node);
foreach my $call ('clock_measure', 'clock_histogram', 'clock_summary')
{
	foreach my $source ('rdtsc', 'rdtscp')
	{
		my $result = $session->query("SELECT * FROM $call('$source', 0.1)");

		is($result->{state}, '0A000', "$call('$source') is refused");
		like(
			$result->{err},
			qr/^ERROR:  clock source "$source" is not available on this server\nDETAIL:  .*prctl\(PR_SET_TSC, PR_TSC_SIGSEGV\).*\nHINT:  .*clock_sources/,
			"$call('$source'): reason and hint");
	}
}

# Functions that do not need the TSC work in the same session.
foreach my $source ('system', 'instr_time')
{
	my $row = $session->row("SELECT * FROM clock_summary('$source', 0.2)");

	cmp_ok($row->{readings}, '>', 0, "$source is measured");
	is($row->{backward_steps}, 0, "$source: no step back");
	is($row->{warps}, 0, "$source: no warp");
}
is( $session->query(
		q{SELECT (SELECT sum(count) FROM clock_histogram(s)) = (clock_summary(s)).readings
			FROM clock_measure('system', 0.1) AS s}
	)->{out},
	't',
	'histogram and summary of a sample have the same number of readings');
is( $session->query(q{SELECT sum(count) > 0 FROM clock_histogram('system', 0.1)})
	  ->{out},
	't',
	'clock_histogram');
my $report = $session->query('SELECT * FROM clock_report(0.1)');
is($report->{state}, '00000', 'clock_report');
like($report->{out}, qr/^System clock source: clock_gettime/m,
	'clock_report has the system clock');
like(
	$report->{out},
	qr/^TSC clock source is not usable\. The reason is that .*prctl/m,
	'clock_report says why it omits the TSC');

is($session->query('SELECT 1')->{out}, 1, 'the session lives');
is($other->query('SELECT 1')->{out}, 1, 'another session lives');
$session->quit;
$other->quit;
$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal/, 'no process has been killed');
unlike($log, qr/all server processes terminated/, 'there was no crash');

done_testing();
