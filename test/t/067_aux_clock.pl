
# Linux's auxiliary clocks, which test/shim/aux_clock.c simulates: they are listed and surveyed if
# they are enabled, and a wrong rate of them is no fault.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;
use ClockShim;

my $shim = ClockShim->new('aux_clock', 8);
plan skip_all => 'this is not Linux' unless $^O eq 'linux';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$shim->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION clocktiming');

# The clocks change while a session is connected.
my $session = ClockSession->new($node);
sub query { my ($sql) = @_; return $session->query($sql)->{out}; }
sub listed { return query(q{SELECT coalesce(string_agg(source || ' ' || available, ', '), 'none') FROM clock_sources WHERE source LIKE 'aux%'}); }
sub platform { return query(q{SELECT value FROM clock_platform WHERE name = 'aux_clocks'}); }

# clock_getres() succeeds for all of them.
is(listed(), 'none', 'no auxiliary clock is enabled');
is(platform(), 'none', 'clock_platform says so');
my $all = query('SELECT count(*) FROM clock_sources');
is($session->query(q{SELECT * FROM clock_summary('aux3', 0.1)})->{state}, '0A000', 'a disabled clock is not available');
like($session->query(q{SELECT * FROM clock_summary('aux9', 0.1)})->{err}, qr/unknown clock source "aux9"/, 'there is no ninth clock');

# Enables two clocks: one at the right rate, one 500 ppm fast.
$shim->write(0, 1);
$shim->write(3, 501);
is(listed(), 'aux0 true, aux3 true', 'enabled clocks are listed');
is(platform(), '0, 3', 'clock_platform lists their numbers');
is(query('SELECT count(*) FROM clock_sources'), $all + 2, 'beside the other clocks');
is(query(q{SELECT string_agg(source || ' ' || (cost_ns > 0) || ' ' || resolution_ns::int, ', ') FROM clock_survey('{all}', 0.3) WHERE source LIKE 'aux%'}), 'aux0 true 1, aux3 true 1', 'the survey measures them');
is(query(q{SELECT clock FROM clock_sources WHERE source = 'aux3'}), 'clock_gettime (CLOCK_AUX + 3)', 'the clock that is read');
ok(query(q{SELECT abs(drift_ppm - 500) < 5 + drift_margin_ppm FROM clock_drift('aux3', 0.5)}) eq 't', 'clock_drift shows its rate');
like(query(q{SELECT string_agg(check_name, ',') FROM clock_check(0.2) WHERE NOT ok}), qr/^(?!.*drift)/, 'but it is no fault of the clocks');
unlike(query(q{SELECT string_agg(finding, ' ') FROM clock_advice(0.2)}), qr/\baux/, 'nor does the advice mention it');

# The owner disables them again.
$shim->write(0, 0, 0, 0, 0);
is(listed(), 'none', 'disabled clocks are not listed');
is(query(q{SELECT count(*) FROM clock_survey('{all}', 0.2) WHERE source LIKE 'aux%'}), '0', 'nor surveyed');
$session->quit;
$node->stop;

done_testing();
