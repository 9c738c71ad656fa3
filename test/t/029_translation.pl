
# A server with German messages also prints clocktiming's messages in German.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

sub found { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH}; }

plan skip_all => 'this PostgreSQL was built without NLS' unless `pg_config --configure` =~ /--enable-nls/;
plan skip_all => 'msgfmt is not installed, so that nothing is translated' unless found('msgfmt');

# Creates a German locale for the test, because few machines have one.
my $locale = 'de_DE.UTF-8';
my $locales = PostgreSQL::Test::Utils::tempdir;
plan skip_all => 'no German locale can be made here: localedef and its sources are not installed'
  if !found('localedef') || system("localedef --no-archive -i de_DE -f UTF-8 $locales/$locale >$locales/log 2>&1") >> 8 > 1 || !-f "$locales/$locale/LC_CTYPE";
chmod 0755, $locales;
delete $ENV{LANGUAGE};
$ENV{LOCPATH} = $locales;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', "lc_messages = '$locale'\n");
$node->start;
my $session = ClockSession->new($node);

# clocktiming's messages are translated even if the translation of the server's own messages is not
# installed.
$session->query('CREATE EXTENSION clocktiming');
my $result = $session->query(q{SELECT clock_measure('rtdsc', 1)});
is($result->{state}, '22023', 'an error');
like($result->{err}, qr/^(?:FEHLER|ERROR):  unbekannte Uhrenquelle »rtdsc«$/m, 'its message');
like($result->{err}, qr/^(?:TIPP|TIP|HINT):  War »rdtsc« gemeint\? Bekannte Uhrenquellen sind system, .*, time\.$/m, 'its hint');
like($session->query(q{SELECT clock_measure('system', 0)})->{err}, qr/^DETAIL:  Die angegebene Dauer ist 0 Sekunden\.$/m, 'a detail');
like($session->query('CALL clock_executor_overhead(workload => $$sundial$$)')->{err},
	qr/^(?:TIPP|TIP|HINT):  Mögliche Werte sind generate_series und table\.$/m, 'a hint with the list of workloads');

# A report of progress contains a part that is translated separately.
$session->query(q{SET clocktiming.progress_interval = '10ms'});
like($session->query(q{SELECT clock_measure('system', 0.2)})->{err},
	qr/^(?:HINWEIS|NOTICE):  Fortschritt: [^\n]* s vergangen, [^\n]* s verbleibend, Mittelwert \d/m, 'progress reports');

# In English, messages are as they are in the source.
$session->query(q{SET lc_messages = 'C'});
like($session->query(q{SELECT clock_measure('rtdsc', 1)})->{err}, qr/^ERROR:  unknown clock source "rtdsc"$/m, 'an error in English');
$session->quit;
$node->stop;
done_testing();
