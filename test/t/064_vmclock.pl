
# VMClock, the device by which a hypervisor reports migrations to a virtual machine. The test writes
# files in the format of the device: complete ones, ones without some of the fields, and invalid
# ones. test/shim/kernel_clock.c makes the server read them as /dev/vmclock0.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my $shim = ClockShim->new('kernel_clock');
plan skip_all => 'this is not Linux' unless $^O eq 'linux';

my $directory = PostgreSQL::Test::Utils::tempdir();
my $device = "$directory/vmclock0";
my $hz = 2_600_000_000;

# Replaces the device by the given bytes.
sub put
{
	my ($bytes) = @_;

	open(my $fh, '>:raw', "$device.new") or die $!;
	print $fh $bytes;
	close($fh);
	rename("$device.new", $device) or die $!;
	return;
}

# Returns the bytes of a device: struct vmclock_abi of Linux, in a page of 4096 bytes. By default,
# all of its fields are valid. The period of the counter is in units of 2^-(64 + 30) s.
sub device
{
	my (%set) = @_;
	my $period = int(2**94 / $hz);
	my %field = (magic => 0x4b4c4356, size => 4096, version => 1, counter => 1, sequence => 10, marker => 5,
		flags => 1 << 3 | 1 << 4 | 1 << 8, status => 2, shift => 30, period => $period, error => int($period / 1e6),
		bound => int($period * 3 / 1e6), generation => 9, %set);

	return substr(pack('VVvCCVQ<Q<x2CCvCCQ<Q<Q<Q<Q<Q<Q<Q<Q<x4096',
		@field{qw(magic size version counter)}, 0, @field{qw(sequence marker flags status)}, 0, 0, 0, $field{shift}, 0,
		@field{qw(period error bound)}, 0, 0, 0, 0, $field{generation}), 0, 4096);
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\n");
put(device());
$shim->start($node, KERNEL_CLOCK_DIR => $directory);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# Returns the rows of VMClock in clock_platform as one line. $columns selects names or values.
sub platform { return query(q{SELECT string_agg(substring(name from 9) || ' ' || coalesce(value, '?'), ', ') FROM clock_platform WHERE name LIKE 'vmclock%'}); }
sub remark { my ($name) = @_; return query("SELECT note FROM clock_platform WHERE name = '$name'"); }
sub advice { return query(q{SELECT severity || ': ' || translate(finding, E'\n', ' ') || coalesce(' / ' || translate(action, E'\n', ' '), '') FROM clock_advice(0.05) WHERE check_name = 'migration'}); }

# A complete device
is(platform(), ' read, disruption_marker 5, generation 9, announced none, status synchronized, frequency_khz 2600000.000', 'a complete device');
is(remark('vmclock'), '', 'nothing is missing');
like(remark('vmclock_frequency_khz'), qr/^of the TSC,.* error at most 3\.000 ppm, estimated error 1\.000 ppm$/, 'error of the frequency');
like(advice(), qr/^ok: the virtual machine was not migrated/, 'advice: not migrated');

# Each field is absent in turn, because the device does not state it or ends before it.
foreach my $case (
	[ 'no generation by flag', { flags => 1 << 3 | 1 << 4 }, 4096, 'disruption_marker 5, announced none, status synchronized, frequency_khz 2600000.000', 'generation' ],
	[ 'no generation by size', { size => 111 }, 4096, 'disruption_marker 5, announced none, status synchronized, frequency_khz 2600000.000', 'generation' ],
	[ 'no generation by a short file', {}, 111, 'disruption_marker 5, announced none, status synchronized, frequency_khz 2600000.000', 'generation' ],
	[ 'no status', { status => 0 }, 4096, 'disruption_marker 5, generation 9, announced none, frequency_khz 2600000.000', 'status' ],
	[ 'unknown status', { status => 77 }, 4096, 'disruption_marker 5, generation 9, announced none, frequency_khz 2600000.000', 'status' ],
	[ 'no period', { period => 0 }, 4096, 'disruption_marker 5, generation 9, announced none, status synchronized', 'frequency' ],
	[ 'no error by flag', { flags => 1 << 3 | 1 << 8 }, 4096, 'disruption_marker 5, generation 9, announced none, status synchronized, frequency_khz 2600000.000', 'error of the frequency' ],
	[ 'no error by size', { size => 71 }, 4096, 'disruption_marker 5, announced none, status synchronized, frequency_khz 2600000.000', 'generation, error of the frequency' ],
	[ 'flags are the last field', { size => 32 }, 4096, 'disruption_marker 5, announced none', 'generation, status, frequency' ],
	[ 'as by Firecracker', { counter => 255, flags => 3 << 8, status => 0, shift => 0, period => 0, error => 0, bound => 0 }, 4096, 'disruption_marker 5, generation 9, announced none', 'status, frequency' ])
{
	my ($what, $set, $length, $rows, $missing) = @$case;

	put(substr(device(%$set), 0, $length));
	is(platform(), " read, $rows", "$what: the other fields");
	is(remark('vmclock'), "without $missing", "$what: said once");
	like(advice(), qr/^ok: the virtual machine was not migrated/, "$what: not migrated");
}
put(device(counter => 255));
like(remark('vmclock_frequency_khz'), qr/^of no known counter, error/, 'unknown counter: not compared with the TSC');

# Devices that cannot be used
foreach my $case (
	[ 'wrong magic', device(magic => 0x4b4c4357), 'invalid', 'magic' ],
	[ 'size too small', device(size => 31), 'invalid', 'it has 31 bytes, at least 32' ],
	[ 'size 0', device(size => 0), 'invalid', 'it has 0 bytes' ],
	[ 'wrong version', device(version => 2), 'invalid', 'version is 2' ],
	[ 'an empty file', '', 'invalid', 'magic' ],
	[ 'a torn file', device(sequence => 11), 'busy', 'updates it all the time' ])
{
	my ($what, $bytes, $state, $note) = @$case;

	put($bytes);
	is(platform(), " $state", "$what: one row");
	like(remark('vmclock'), qr{^/dev/vmclock0: .*$note}, "$what: why");
	like(advice(), qr{^notice: not known: /dev/vmclock0 cannot be read: .*$note}, "$what: advice");
}
put(device());
chmod(0, $device) or die $!;
is(platform(), ' unreadable', 'no permission: one row');
is(remark('vmclock'), '/dev/vmclock0: Permission denied', 'no permission: why');
like(advice(), qr{^notice: not known: .*Permission denied.* / for good: .*udev rule such as.*KERNEL=="vmclock0", GROUP="postgres", MODE="0640"$}, 'no permission: what to do');
unlink($device);
is(platform(), ' absent', 'no device: one row');
like(advice(), qr/^ok: (?:no migration is reported: there is no|this is no virtual machine)/, 'no device: advice');

# Migrations
put(device(flags => 1 << 1 | 1 << 8));
like(platform(), qr/announced in about a day/, 'announced');
like(advice(), qr/^warning: a migration is announced, in about a day/, 'announced: advice');
put(device(flags => 1 << 1 | 1 << 2 | 1 << 8));
like(advice(), qr/^warning: a migration is announced, in about an hour/, 'announced: advice, an hour before');
put(device(marker => 6));
my $by_tsc = query(q{SELECT value FROM clock_platform WHERE name = 'explain_analyze_source'}) eq 'rdtsc';
like(advice(), $by_tsc ? qr{^warning: the virtual machine was migrated, but the server still uses the TSC frequency from its start: VMClock states 2600000\.000 kHz.* / now: SET timing_clock_source = 'system'.*restart the server}
	: qr{^notice: the virtual machine was migrated since the server started: .* / now: compare by SELECT \* FROM clock_survey\(\);}, 'migrated: advice');
put(device(marker => 6, generation => 10));
like(advice(), qr/: the virtual machine was restored from a snapshot/, 'restored: advice');
put(device(marker => 6, flags => 0));
like(advice(), qr/: the virtual machine was migrated/, 'without generation, a restored machine seems migrated');
$node->stop;

# The worker that watches the clock. Each change causes exactly one event.
put(device());
$node->append_conf('postgresql.conf', "clocktiming.watch = on\nclocktiming.watch_interval = 200ms\n");
$shim->start($node, KERNEL_CLOCK_DIR => $directory);

sub intervals
{
	my $sum = q{SELECT coalesce(sum(intervals), 0) FROM clock_history WHERE per = 'hour'};
	my $now = query($sum);
	return $node->poll_query_until('postgres', "SELECT ($sum) >= $now + 3");
}

my $events = q{SELECT coalesce(string_agg(what || ': ' || before || ' > ' || after || CASE WHEN ended_at IS NULL THEN ' ...' WHEN ended_at < at THEN ' ?' ELSE '' END, ', ' ORDER BY at, what), '') FROM clock_events WHERE what ~ '^(migrat|restor)'};

# Checks that a new device causes these new events, and no further ones later.
my $so_far = '';
sub causes
{
	my ($bytes, $expected, $what) = @_;

	put($bytes) if defined $bytes;
	$expected = join(', ', grep { $_ ne '' } $so_far, $expected);
	$node->poll_query_until('postgres', $events, $expected);
	intervals();
	is(query($events), $expected, $what);
	$so_far = $expected;
	return;
}

intervals();
causes(undef, '', 'watch: no event at the start');
causes(device(marker => 6), 'migrated: marker 5 > marker 6', 'watch: migrated');
is(query(q{SELECT trusted, spoilt_by @> '{migrated}' FROM clock_trust(now() - interval '1 hour')}), 'f|t', 'a period with a migration is not trusted');
is(query(q{SELECT spoilt_by @> '{migrated}' FROM clock_trust(clock_timestamp() - interval '0.1 s')}), 'f', 'a later period is');
causes(device(marker => 7, generation => 10), 'restored: generation 9 > generation 10', 'watch: restored, without a second event for the marker');
causes(device(marker => 7, generation => 10, flags => 1 << 1 | 1 << 8), 'migration announced: none > in about a day ...', 'watch: announced');
$so_far =~ s/ \.\.\.//;
causes(device(marker => 7, generation => 10, flags => 1 << 2 | 1 << 8), 'migration announced: in about a day > in about an hour ...', 'watch: announced for an hour later');
$so_far =~ s/ \.\.\.//;
causes(device(marker => 8, generation => 10), 'migrated: marker 7 > marker 8', 'watch: the announced migration');
causes(device(marker => 9, sequence => 11), '', 'watch: no event while the hypervisor updates the device');
causes(device(marker => 8, generation => 10, sequence => 12), '', 'watch: nor later');
causes(device(marker => 9, version => 2), '', 'watch: no event by an invalid device');
like(slurp_file($node->logfile), qr/clocktiming cannot detect migrations of this virtual machine, because it cannot read "\/dev\/vmclock0": its version is 2, known is 1/, 'the log says so');
chmod(0, $device) or die $!;
causes(undef, '', 'watch: nor by an unreadable one');
is(scalar(() = slurp_file($node->logfile) =~ /cannot detect migrations/g), 1, 'once');
unlink($device);
causes(undef, '', 'watch: nor by a device that disappears');

# An event is detected even if no server was running.
put(device(marker => 9, generation => 10));
causes(undef, 'migrated: marker 8 > marker 9', 'watch: the device is back after a migration');
$node->stop;
put(device(marker => 10, generation => 11));
$shim->start($node, KERNEL_CLOCK_DIR => $directory);
causes(undef, 'restored: generation 10 > generation 11', 'watch: restored while the server was down');
like(advice(), qr/^ok: the virtual machine was not migrated/, 'advice: not since this start');

# After a restart of the machine, other values are no migration.
append_to_file("$directory/boot_id", "11111111-2222-3333-4444-555555555555\n");
$node->stop;
put(device(marker => 1, generation => 1));
$shim->start($node, KERNEL_CLOCK_DIR => $directory);
intervals();
causes(undef, '', 'watch: no event after a restart of the machine');

# The bound of the error of times. The device states the counter's true frequency, one that is wrong
# by 0.2 %, and one without a bound.
SKIP:
{
	my $true_hz = 1000 * (query(q{SELECT value FROM clock_platform WHERE name = 'tsc_frequency_calibration_khz'}) || 0);
	skip 'the TSC cannot be read here', 6 unless $true_hz;
	my @marks = (marker => 1, generation => 1);

	# The bound of a minute is known only if that of each of its intervals is known.
	$node->stop;
	unlink($node->data_dir . '/pg_stat/clocktiming.watch') or die $!;
	foreach my $case ([ 1, 'the true frequency', 'BETWEEN 3 AND 900' ], [ 0.998, 'a wrong frequency', 'BETWEEN 1900 AND 2900' ])
	{
		my ($factor, $what, $range) = @$case;
		my $period = int(2**94 / ($true_hz * $factor));

		put(device(@marks, period => $period, bound => int($period * 3 / 1e6)));
		$shim->start($node, KERNEL_CLOCK_DIR => $directory) if $factor == 1;
		ok($node->poll_query_until('postgres', "SELECT error_bound_ppm $range FROM clock_history WHERE per = 'minute' ORDER BY at DESC LIMIT 1"), "$what: bound $range")
		  or diag(query('SELECT * FROM clock_history'));
		is(query("SELECT count(*) FROM clock_trust(clock_timestamp() - interval '0.05 s') WHERE trusted AND coalesce(error_bound_ppm, 0) < 3"), '0', 'clock_trust states the bound');
	}
	put(device(@marks, flags => 1 << 8));
	intervals();
	is(query(q{SELECT error_bound_ppm IS NULL FROM clock_history WHERE per = 'minute' ORDER BY at DESC LIMIT 1}), 't', 'no bound if the device states none');
	is(query(q{SELECT error_bound_ppm IS NULL FROM clock_trust(clock_timestamp() - interval '0.2 s')}), 't', 'clock_trust states none, either');
}

$node->stop;

# A server that does not preload the library does not know what happened before.
put(device());
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nclocktiming.watch = off\n");
$shim->start($node, KERNEL_CLOCK_DIR => $directory);
like(advice(), qr/^ok: no migration is announced; past ones are not known/, 'not preloaded');
$node->stop;

done_testing();
