
# Calls every function of the portable edition: as a role that may only connect and create temporary
# objects, with unusual settings, with statement_timeout, and on a standby.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use PortableEdition;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "track_io_timing = on\njit = on\nlog_statement = none");
$node->start;
$node->safe_psql(
	'postgres', q{
	REVOKE CREATE ON SCHEMA public FROM PUBLIC;
	CREATE ROLE regress_nobody LOGIN;
	CREATE SCHEMA clock;
	GRANT USAGE ON SCHEMA clock TO PUBLIC});
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# Installs the edition in a schema of the primary, and calls the functions on a standby, which
# cannot write.
my $owner = ClockSession->new($node);
$owner->query('SET search_path = clock');
like(PortableEdition::install($owner)->{err}, qr/^NOTICE:  clocktiming \S+ is installed in schema clock\n/m, 'installed in a schema');
$owner->quit;

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $reader = ClockSession->new($standby, user => 'regress_nobody');
PortableEdition::all_work($reader, 'clock', 'on a standby');
my $refused = PortableEdition::install($reader);
is($refused->{state}, '25006', 'installation on a standby is refused');
like($refused->{err}, qr/cannot be installed on a standby.*\nHINT:  Install it on the primary/, 'a hint says to install on the primary');
$reader->quit;
$standby->stop;

# A role without privileges installs the edition in pg_temp.
my $nobody = ClockSession->new($node, user => 'regress_nobody');
like(PortableEdition::install($nobody)->{err}, qr/^NOTICE:  clocktiming \S+ is installed in schema pg_temp, for this session only\n/m,
	'installed in pg_temp');
PortableEdition::all_work($nobody, 'pg_temp', 'without privileges');
like(PortableEdition::install($nobody)->{err}, qr/installed in schema pg_temp/, 'installed once more');

# Settings that change the meaning of names, constants and casts, or the way in which queries are
# executed.
my @settings = (
	q{search_path = ''},
	'extra_float_digits = -15',
	q{DateStyle = 'German, DMY'},
	'IntervalStyle = sql_standard',
	q{TimeZone = 'Asia/Kathmandu'},
	'bytea_output = escape',
	'quote_all_identifiers = on',
	'transform_null_equals = on',
	'array_nulls = off',
	'default_transaction_isolation = serializable',
	'default_transaction_read_only = on',
	'plan_cache_mode = force_generic_plan',
	'cursor_tuple_fraction = 0.01',
	'enable_hashagg = off',
	'jit_above_cost = 0',
	'jit_optimize_above_cost = 0',
	'parallel_setup_cost = 0',
	'min_parallel_table_scan_size = 0',
	q{work_mem = '64kB'},
	($version < 160000 ? 'force_parallel_mode' : 'debug_parallel_query') . ' = on',
	$version < 190000 ? ('standard_conforming_strings = off', 'escape_string_warning = off') : ());
foreach my $setting (@settings)
{
	my $result = $nobody->query("SET $setting");
	is($result->{state}, '00000', "SET $setting") or diag $result->{err};
}
PortableEdition::all_work($nobody, 'pg_temp', 'with odd settings');
$nobody->query('RESET ALL');

# Calls with default arguments and a short timeout must return in time, or raise an error with a
# hint. On a busy machine, several attempts are made.
foreach my $call (PortableEdition::calls($nobody, 'pg_temp', 1))
{
	my ($result, $fine);

	for (1 .. 5)
	{
		$result = $nobody->query_with_timeout(3000, $call);
		$fine = $result->{state} eq '00000' || $result->{state} =~ /^(?:55000|57014)$/ && $result->{err} =~ /^HINT:/m;
		last if $fine;
	}
	ok($fine, "within 3 s: $call") or diag "$result->{state} after $result->{seconds} s: $result->{err}";
}
$nobody->quit;

done_testing();
