
# A preloaded library such as libfaketime replaces clock_gettime() and lets the clock run 4 % fast.
# This is a wrong rate, and neither warps nor lags. clock_advice() and clock_survey() must name the
# library, and not blame the time service, the provider or the vDSO.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

# Positions of words in the control file of drift_clock.c.
use constant { PID => 0, RATE => 1 };

my $shim = ClockShim->new('drift_clock', 8);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "timing_clock_source = system\n") if $node->pg_version->major >= 19;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');
is($node->safe_psql('postgres', q{SELECT count(*) FROM clock_survey('{system}', 0.1) WHERE read_by = 'library'}), '0', 'no library at first');
$node->stop;
$shim->start($node);

my $session = ClockSession->new($node);
sub query { my ($sql) = @_; return $session->query($sql)->{out} =~ s/\s+\z//r; }
$shim->write(RATE, 40_000_000);
$shim->write(PID, $session->pid);
is(query(q{SELECT read_by FROM clock_survey('{system}', 0.1)}), 'library', 'clock_survey: the clock is read by a library');
is(query(q{SELECT warps || ' ' || lags, abs(rate_ppm - 40000) < 2000 FROM clock_summary('system', 0.5)}), '0 0|t', 'clock_summary: a wrong rate, no warps and no lags');
is(query(q{SELECT warps || ' ' || lags FROM clock_summary(clock_measure('system', 0.5, rate => 100))}), '0 0', 'a throttled run: no warps and no lags');
my $findings = query(q{SELECT concat_ws('; ', severity, finding, now, for_good, provider) FROM internal_clock_findings(1) WHERE check_name = 'drift'});
like($findings, qr/^warning; a clock runs at a wrong rate, because the library \S*drift_clock\.so replaces the system's clock:.*start the server without this library/, 'clock_advice: names the library');
unlike($findings, qr/chronyc|virtual machine/, 'and blames nothing else');
is(query(q{SELECT string_agg(concat_ws(' ', check_name, evidence), '; ') FROM internal_clock_findings(1) WHERE check_name IN ('warps', 'lags', 'backward_steps') AND severity <> 'ok'}), '', 'clock_advice: neither warps nor lags');
$node->stop;
done_testing();
