
# A system on which several names stand for one clock, as in gVisor. The reference clock is then the
# clock under test, and errors of it cannot be seen. test/shim/one_clock.c makes the server see such
# a system. No verdict may be "ok".

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockShim;

my $shim = ClockShim->new('one_clock');
plan skip_all => 'this is not Linux' unless $^O eq 'linux';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'clocktiming'\nclocktiming.watch = on\nclocktiming.watch_interval = 200ms\n");
$node->append_conf('postgresql.conf', 'timing_clock_source = system') if $node->pg_version->major >= 19;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

sub query { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
sub counter { my ($name) = @_; return query("SELECT note FROM clock_platform WHERE name = 'counter_of_$name'"); }
sub advice { my ($check) = @_; return query(qq{SELECT coalesce(severity, 'NULL') || ': ' || translate(finding, E'\\n', ' ') FROM clock_advice(0.2) WHERE check_name = '$check'}); }
sub check { my ($check) = @_; return query(qq{SELECT ok, figure IS NULL, coalesce(detail, '') FROM clock_check(0.2) WHERE check_name = '$check'}); }

# First, this machine as it is.
is(counter('monotonic_raw'), 'the reference clock', 'a row for the reference clock');
unlike(counter($_), qr/errors cannot be seen/, "as it is: $_") for qw(system monotonic boottime realtime tai);
like(advice('drift'), qr/^(?:ok|warning): /, 'as it is: the rate is judged');
like(check('drift'), qr/^[tf]\|f\|rate error/, 'as it is: the rate has a figure');
my $tsc = query(q{SELECT count(*) FROM clock_platform WHERE name = 'counter_of_rdtsc'}) eq '1';
$node->stop;

unlink($node->data_dir . '/pg_stat/clocktiming.watch') or die $!;
$shim->start($node);
is(counter($_), 'the same clock as the reference clock, so its errors cannot be seen', "one clock: $_") for qw(system monotonic boottime);
is(counter($_), 'another clock than the reference clock', "one clock: $_ is another") for qw(realtime tai);
is(counter('rdtsc'), $tsc ? 'read without the kernel' : '', 'one clock: the TSC');

like(advice('drift'), qr/^NULL: not known: CLOCK_MONOTONIC_RAW by system call, the reference clock, is the same clock as clock_gettime \(CLOCK_MONOTONIC\), so a wrong rate and suspensions cannot be seen$/, 'advice: the rate is not known');
like(advice($_), $tsc ? qr/^(?:ok|warning): / : qr/^NULL: not known: /, "advice: $_ are judged by the TSC only") for qw(warps lags);
like(advice('overall'), qr/unknown: .*drift/, 'the overall verdict says so');
is(check('drift'), 'f|t|not known: CLOCK_MONOTONIC_RAW by system call is the same clock', 'a check that is not known is not passed');
is(query(q{SELECT ok FROM clock_check(0.2, max_drift_ppm => 'infinity') WHERE check_name = 'drift'}), 't', 'it can be left out');

my ($status, $out, $err) = $node->psql('postgres', q{SELECT drift_ppm IS NULL, drift_margin_ppm IS NULL FROM clock_drift('monotonic', 0.1)});
is($out, 't|t', 'no drift of the reference clock against itself');
like($err, qr/WARNING:  could not determine the drift of clock source "monotonic"\nDETAIL:  It is the same clock as the reference, CLOCK_MONOTONIC_RAW by system call\.\nHINT:  Choose a counter/, 'a warning says why');
SKIP:
{
	skip 'the TSC cannot be read here', 1 unless $tsc;
	is(query(q{SELECT drift_ppm IS NULL FROM clock_drift('monotonic', 0.1, 'rdtsc')}), 'f', 'the TSC is a reference');
}

# The watch
ok($node->poll_query_until('postgres', q{SELECT watched_percent >= 90 FROM clock_trust(clock_timestamp() - interval '0.1 s')}), 'the clock is watched');
is(query(q{SELECT count(*) FROM clock_history WHERE rate_ppm IS NOT NULL}), '0', 'no rate in the history');
is(query(q{SELECT count(*) FROM generate_series(1, 20) i, LATERAL clock_trust(clock_timestamp() - i * interval '0.02 s') WHERE trusted}), '0', 'clock_trust does not trust the clock');
ok($node->poll_query_until('postgres', q{SELECT verdict = 'not known: the reference clock is the watched clock' OR cardinality(spoilt_by) > 0 FROM clock_trust(clock_timestamp() - interval '0.1 s')}), 'clock_trust says why');
is(query(q{SELECT coalesce(sum(value), 0) FROM clock_metrics WHERE name = 'pg_clock_advice' AND labels ->> 'check' = 'drift'}), '0', 'no severity in the metrics');
$node->stop;

done_testing();
