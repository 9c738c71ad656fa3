
# The option CLOCK_SAMPLING of EXPLAIN, which exists from PostgreSQL 18 on.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
jit = off
autovacuum = off
});
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
if ($version < 180000)
{
	$node->stop;
	plan skip_all => 'extensions cannot add options to EXPLAIN before PostgreSQL 18';
}
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, i % 100 AS k, md5(i::text) AS s FROM generate_series(1, 20000) AS i;
	CREATE TABLE b AS SELECT i, i % 50 AS k FROM generate_series(1, 5000) AS i;
	CREATE INDEX a_i ON a (i);
	CREATE TABLE w (i integer);
	CREATE TABLE log (i integer);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (NEW.i); RETURN NEW; END';
	CREATE TRIGGER note AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION note();
	CREATE FUNCTION inner_explain(options text, query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		line text;
		result text := '';
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (' || options || ') ' || query LOOP
			result := result || line || E'\n';
		END LOOP;
		RETURN result;
	END $$;
	VACUUM ANALYZE;
});

# The option does not exist before the library is loaded.
my ($status, $stdout, $stderr) = $node->psql('postgres', 'EXPLAIN (ANALYZE, CLOCK_SAMPLING) SELECT 1');
like($stderr, qr/unrecognized EXPLAIN option "clock_sampling"/, 'the option does not exist before the library is loaded');

my $session = ClockSession->new($node);
my $killer = ClockSession->new($node);
$session->query(q{LOAD 'clocktiming'; SET max_parallel_workers_per_gather = 0});
my $on = 'ANALYZE, CLOCK_SAMPLING';

sub lines
{
	my ($options, $query) = @_;
	my $result = $session->query("EXPLAIN ($options) $query");

	diag "$query: $result->{err}" if $result->{state} ne '00000';
	return $result->{out};
}

sub node_lines { return scalar(() = $_[0] =~ /\(cost=/g); }
sub clock_lines { return scalar(() = $_[0] =~ /^ +Clock: total \d+\.\d{3} \+\/- \d+\.\d{3} ms, self \d+\.\d{3} \+\/- \d+\.\d{3} ms \(\d+\.\d \+\/- \d+\.\d %\)(?:, [^\n;]+)?(?:; [^\n]+)?$/mg); }

# Returns the lines after the plan, with N for each number of ms, and without the lines about times
# that belong to no node.
sub closing_lines
{
	my ($text) = @_;

	$text =~ s/\A.*?^(?=Planning Time)//ms;
	$text =~ s/^(?:Outside of the nodes|Waiting for a CPU): .*\n//mg;
	$text =~ s/, \d+ samples.*$/, N samples/mg;
	$text =~ s/[0-9.]+ ms/N ms/g;
	return $text;
}

# Checks that EXPLAIN ANALYZE without the option prints the server's own times, and nothing of
# clocktiming.
sub untouched
{
	my ($what) = @_;
	my $text = lines('ANALYZE', 'SELECT count(*) FROM a');

	is(scalar(() = $text =~ /actual time=\d+\.\d+\.\.\d+\.\d+ rows=\d+\.\d\d loops=[123]\)/g), node_lines($text),
		"$what: EXPLAIN ANALYZE has times");
	unlike($text, qr/Clock|Waits|samples/, "$what: EXPLAIN ANALYZE prints nothing of clocktiming");
	like($text, qr/Buffers:/, "$what: EXPLAIN ANALYZE has its default options");
	is($session->query('SHOW clocktiming.worker_observation')->{out}, '', "$what: clocktiming.worker_observation is empty");
	return;
}

my @clocks = ('');
if ($version >= 190000)
{
	push @clocks, 'system';
	push @clocks, 'tsc' if $session->query(q{SET timing_clock_source = 'tsc'})->{state} eq '00000';
	$session->query('RESET timing_clock_source');
	diag "clocks: @clocks";
}
my $query = 'SELECT b.k, count(*) FROM a JOIN b USING (i) WHERE a.k < 50 GROUP BY b.k ORDER BY b.k';
foreach my $clock (@clocks)
{
	my $what = $clock eq '' ? '' : ", timing_clock_source = $clock";

	$session->query("SET timing_clock_source = '$clock'") if $clock ne '';

	# text
	foreach my $options ('', ' on', ' true', ' 1', ', VERBOSE', ', BUFFERS', ', WAL', ', SERIALIZE', ', MEMORY', ', SETTINGS',
		', COSTS', ', TIMING', ', VERBOSE, BUFFERS, WAL, SERIALIZE BINARY, MEMORY, SETTINGS')
	{
		my $text = lines($on . $options, $query);

		cmp_ok(node_lines($text), '>=', 4, "the plan with$options$what");
		is(clock_lines($text), node_lines($text), "a line of ours for each node with$options$what") or diag $text;
		is(scalar(() = $text =~ /actual time=\d+\.\d{3}\.\.\d+\.\d{3} rows=\d+\.\d\d loops=1\)/g), node_lines($text),
			"times with$options$what");
		like($text, qr/^Time: sampling, \d+ samples(, \d+\.\d{3} ms of CPU time of the sampler)?$/m, "summary with$options$what");
		like($text, qr/^Execution Time: /m, "execution time with$options$what");
		$options =~ /BUFFERS/ ? like($text, qr/Buffers: shared/, 'buffers') : unlike($text, qr/Buffers: shared/, 'no buffers unless asked for');
		like($text, qr/^Serialization: /m, 'serialization') if $options =~ /SERIALIZE/;
	}
	is(closing_lines(lines($on, $query)), closing_lines($session->query("SELECT * FROM clock_explain_text('$query')")->{out}),
		"clock_explain_text() ends like EXPLAIN$what");
	my $text = lines("$on, SUMMARY OFF", $query);
	is(clock_lines($text), node_lines($text), "SUMMARY OFF$what");
	unlike($text, qr/^(Clock|Execution Time)/m, "SUMMARY OFF: no summary$what");
	$text = lines("$on, COSTS OFF", $query);
	is(clock_lines($text), scalar(() = $text =~ /actual time/g), "COSTS OFF$what");

	# JSON
	my $json = decode_json(lines("$on, FORMAT JSON, BUFFERS", $query))->[0];
	my $plain = decode_json(lines('ANALYZE, FORMAT JSON, BUFFERS', $query))->[0];
	is_deeply([ sort grep { !/^Clock$/ } keys %$json ], [ sort keys %$plain ], "JSON: EXPLAIN's own keys$what");
	is_deeply([ sort keys %{ $json->{Clock} } ], [ 'By Timer', 'CPU Wait Time', 'Method', 'Sampler CPU Time', 'Samples', 'Time Outside of Nodes' ], "JSON: ours$what");
	compare_json($json->{Plan}, $plain->{Plan}, "JSON$what");

	# XML
	my $xml = lines("$on, FORMAT XML", $query);
	my $n = () = $xml =~ /<Node-Type>/g;
	foreach my $key ('Clock-Total-Time', 'Clock-Total-Margin', 'Clock-Self-Time', 'Clock-Self-Margin', 'Clock-CPU-Time', 'Clock-Wait-Time', 'Clock-CPU-Wait-Time', 'Actual-Total-Time')
	{
		is(scalar(() = $xml =~ /<$key>\d+(\.\d+)?<\/$key>/g), $n, "XML: $key$what");
	}
	like($xml, qr/<Clock>\s*<Method>sampling<\/Method>\s*<Samples>\d+<\/Samples>/, "XML: summary$what");
	is($session->query(q{SELECT count(xmlparse(document $$} . $xml . q{$$))})->{out}, '1', "XML: well-formed$what")
	  if $session->query(q{SELECT xmlparse(document '<a/>')})->{state} eq '00000';

	# YAML
	my $yaml = lines("$on, FORMAT YAML", $query);
	$n = () = $yaml =~ /Node Type: /g;
	foreach my $key ('Clock Total Time', 'Clock Total Margin', 'Clock Self Time', 'Clock Self Margin', 'Clock CPU Time', 'Clock Wait Time', 'Clock CPU Wait Time', 'Actual Total Time')
	{
		is(scalar(() = $yaml =~ /^ +$key: \d+(\.\d+)? *$/mg), $n, "YAML: $key$what");
	}
	like($yaml, qr/^  Clock: *\n    Method: "sampling"\n    Samples: \d+\n/m, "YAML: summary$what");
	untouched("formats$what");
	$session->query('RESET timing_clock_source') if $clock ne '';
}

# Compares two plans of EXPLAIN (FORMAT JSON) node by node. With the option, the server's own keys,
# rows and loops must be the same, and clocktiming's keys are added.
sub compare_json
{
	my ($ours, $theirs, $what) = @_;
	my @added = grep { /^Clock / } keys %$ours;

	is_deeply([ grep { !/^(?:Clock |Waits$)/ } sort keys %$ours ], [ sort keys %$theirs ], "$what: keys of $theirs->{'Node Type'}");
	is_deeply([ map { $ours->{$_} } ('Node Type', 'Actual Loops', 'Actual Rows') ],
		[ map { $theirs->{$_} } ('Node Type', 'Actual Loops', 'Actual Rows') ], "$what: $theirs->{'Node Type'}: rows and loops");
	cmp_ok(scalar(@added), '>=', $ours->{'Actual Loops'} > 0 ? 7 : 0, "$what: $theirs->{'Node Type'}: ours");
	is(scalar(@added), 0, "$what: $theirs->{'Node Type'}: none if never executed") if $ours->{'Actual Loops'} == 0;
	my @our_plans = @{ $ours->{Plans} || [] };
	my @their_plans = @{ $theirs->{Plans} || [] };
	is(scalar(@our_plans), scalar(@their_plans), "$what: $theirs->{'Node Type'}: children");
	compare_json($our_plans[$_], $their_plans[$_], $what) for 0 .. $#their_plans;
	return;
}

# Plans of many kinds
foreach my $shape (
	[ 'SELECT * FROM a LIMIT 10' ],
	[ 'SELECT * FROM a ORDER BY s LIMIT 10' ],
	[ 'SELECT 1' ],
	[ 'SELECT 1 WHERE false' ],
	[ 'SELECT i, (SELECT count(*) FROM b WHERE b.i < a.k) FROM a WHERE i < 20' ],
	[ 'SELECT count(*) FROM a WHERE k > (SELECT avg(k) FROM b)' ],
	[ 'WITH c AS MATERIALIZED (SELECT k, count(*) FROM a GROUP BY k) SELECT * FROM c AS x JOIN c AS y USING (k)' ],
	[ 'SELECT count(*) FROM a JOIN b ON a.i = b.i', 'enable_hashjoin=off,enable_mergejoin=off' ],
	[ 'SELECT count(*) FROM a JOIN b ON a.i = b.k', 'enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off' ],
	[ 'SELECT count(*) FROM a AS x JOIN a AS y USING (s)', 'enable_nestloop=off,enable_mergejoin=off,work_mem=64' ],
	[ 'SELECT count(s) FROM a WHERE i < 5000', 'enable_seqscan=off,enable_indexscan=off' ],
	[ 'SELECT count(*) FROM b JOIN a ON false' ],
	[ 'SELECT CASE WHEN i < 0 THEN (SELECT max(k) FROM b) END FROM a WHERE i < 5' ],
	[ 'SELECT i FROM a UNION SELECT i FROM b' ],
	[ 'INSERT INTO w SELECT i FROM b' ],
	[ 'DELETE FROM b WHERE k = 1' ],
	[ 'UPDATE b SET k = 1 RETURNING i' ],
	[ 'MERGE INTO b USING (SELECT i FROM a WHERE i < 50) AS a ON a.i = b.i WHEN MATCHED THEN UPDATE SET k = 2' ],
	[ 'WITH d AS (DELETE FROM b RETURNING i) SELECT count(*) FROM d' ])
{
	my ($sql, $settings) = @$shape;
	my @settings = split /,/, defined $settings ? $settings : '';
	my %text;

	$session->query('BEGIN');
	$session->query("SET LOCAL $_") foreach @settings;
	foreach my $options ('ANALYZE, TIMING OFF', $on)
	{
		$session->query('SAVEPOINT s');
		$text{$options} = decode_json(lines("$options, FORMAT JSON, BUFFERS OFF", $sql))->[0];
		$session->query('ROLLBACK TO s');
	}
	$session->query('ROLLBACK');
	foreach my $options ($on)
	{
		my $timed = strip_times($text{$options}{Plan});
		compare_json($timed, $text{'ANALYZE, TIMING OFF'}{Plan}, "$sql, $options");
	}
}
untouched('plans of all kinds');

sub strip_times
{
	my ($plan) = @_;

	delete @$plan{ 'Actual Startup Time', 'Actual Total Time' };
	strip_times($_) foreach @{ $plan->{Plans} || [] };
	return $plan;
}

# Parallel plans
$session->query(q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2});
foreach my $sql ('SELECT count(*) FROM a', 'SELECT a.i, b.k FROM a JOIN b USING (i)', 'SELECT * FROM a ORDER BY s')
{
	my $text = lines("$on, VERBOSE", $sql);

	like($text, qr/Workers Launched: 2/, "parallel: $sql");
	is(clock_lines($text), node_lines($text), "parallel: $sql: a line of ours for each node");
	like($text, qr/; sum of [23] processes/, "parallel: $sql: workers are observed");
	untouched("parallel: $sql");
}
my $json = decode_json(lines("$on, FORMAT JSON", 'SELECT * FROM a WHERE i % 2 = 0'))->[0]{Plan};
is($json->{'Actual Rows'}, 10000, 'parallel: rows of Gather');
is($json->{Plans}[0]{'Actual Loops'}, 3, 'parallel: loops of the node below Gather');
cmp_ok(abs($json->{Plans}[0]{'Actual Rows'} * 3 - 10000), '<', 0.1, 'parallel: rows of the node below Gather');
$session->query('SET max_parallel_workers_per_gather = 0');

# Statements of many kinds
$session->query('PREPARE p(integer) AS SELECT count(*) FROM a WHERE i < $1');
is(clock_lines(lines($on, 'EXECUTE p(500)')), 2, 'EXECUTE') for 1 .. 7;
is(clock_lines(lines($on, 'CREATE TABLE made AS SELECT * FROM b')), 1, 'CREATE TABLE AS');
is($session->query('SELECT count(*) FROM made')->{out}, '5000', 'CREATE TABLE AS creates the table');
is(clock_lines(lines($on, 'CREATE MATERIALIZED VIEW made_view AS SELECT * FROM b')), 1, 'CREATE MATERIALIZED VIEW');
is(clock_lines(lines($on, 'CREATE TABLE made_2 AS EXECUTE p(5)')), 2, 'CREATE TABLE AS EXECUTE');
is(clock_lines(lines($on, 'DECLARE c CURSOR FOR SELECT * FROM b')), 1, 'DECLARE CURSOR');
my $text = lines($on, 'INSERT INTO w SELECT i FROM b WHERE i <= 30');
is(clock_lines($text), 2, 'INSERT');
like($text, qr/^Trigger note: time=\d+\.\d+ calls=30$/m, 'its trigger is timed');
is($session->query('SELECT count(*) FROM w, log')->{out}, '900', 'its trigger was executed');
$session->query(q{
	CREATE VIEW v AS SELECT i FROM w;
	CREATE RULE r AS ON DELETE TO v DO INSTEAD (DELETE FROM w WHERE i = OLD.i; INSERT INTO log SELECT i FROM b WHERE i < 5; SELECT count(*) FROM a);
	CREATE RULE nothing AS ON INSERT TO v DO INSTEAD NOTHING});
$session->query('BEGIN');
$text = lines($on, 'DELETE FROM v');
is(node_lines($text), clock_lines($text), 'rules: a line for each node of all plans') or diag $text;
is(scalar(() = $text =~ /^Time: /mg), 3, 'rules: a summary for each plan') or diag $text;
is(scalar(() = lines("$on, FORMAT JSON", 'DELETE FROM v') =~ /"Clock": \{/g), 3, 'rules: a summary for each plan in JSON');
$session->query('ROLLBACK');
like(lines($on, 'INSERT INTO v VALUES (1)'), qr/^Query rewrites to nothing$/, 'a rule that leaves no statement');
untouched('statements of all kinds');

# Errors
foreach my $wrong (
	[ 'CLOCK_SAMPLING', '22023', 'EXPLAIN option CLOCK_SAMPLING requires ANALYZE' ],
	[ 'CLOCK_SAMPLING on, ANALYZE OFF', '22023', 'EXPLAIN option CLOCK_SAMPLING requires ANALYZE' ],
	[ 'CLOCK_SAMPLING, GENERIC_PLAN', '22023', 'EXPLAIN option CLOCK_SAMPLING requires ANALYZE' ],
	[ "$on, GENERIC_PLAN", '22023', 'EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together' ],
	[ "$on, TIMING OFF", '22023', 'EXPLAIN option CLOCK_SAMPLING requires TIMING' ],
	[ "$on 1.5", '42601', 'clock_sampling requires a Boolean value' ],
	[ "$on 'often'", '42601', 'clock_sampling requires a Boolean value' ],
	[ "$on, CLOCK_SAMPLE 1", '42601', 'unrecognized EXPLAIN option' ])
{
	my ($options, $code, $message) = @$wrong;
	my $result = $session->query("EXPLAIN ($options) SELECT 1");

	is($result->{state}, $code, "error: $options") or diag $result->{err};
	like($result->{err}, qr/^ERROR:  \Q$message\E/, "error: $options: message");
}
untouched('wrong options');

unlike(lines('ANALYZE, CLOCK_SAMPLING off', 'SELECT count(*) FROM a'), qr/samples/, 'CLOCK_SAMPLING off');

# Executions that fail or are cancelled
foreach my $sql (
	'SELECT 1 / (i - 4000) FROM b',
	'SELECT count(1 / (i - 4000)) FROM b',
	'INSERT INTO w SELECT 1 / (i - 4000) FROM b',
	'CREATE TABLE never AS SELECT 1 / (i - 4000) FROM b')
{
	is($session->query("EXPLAIN ($on) $sql")->{state}, '22012', "error in $sql");
	untouched("error in $sql");
	is( $session->query(qq{DO \$\$
		BEGIN
			EXECUTE 'EXPLAIN ($on) $sql';
		EXCEPTION WHEN division_by_zero THEN
			IF inner_explain('ANALYZE', 'SELECT count(*) FROM a') ~ 'Clock'
				OR inner_explain('ANALYZE', 'SELECT count(*) FROM a') !~ 'actual time=' THEN
				RAISE EXCEPTION 'not as it was';
			END IF;
			PERFORM count(*) FROM a;
			IF inner_explain('$on', 'SELECT count(*) FROM a') !~ 'Clock' THEN
				RAISE EXCEPTION 'no longer works';
			END IF;
		END\$\$})->{state}, '00000', "caught: error in $sql");
	untouched("caught: error in $sql");
}
$session->query('SET max_parallel_workers_per_gather = 2');
foreach my $sql ('SELECT count(*) FROM generate_series(1, 100000000)', 'SELECT pg_sleep(0.01) FROM b', 'SELECT count(pg_sleep(0.01)) FROM b')
{
	is($session->query_with_timeout(200, "EXPLAIN ($on) $sql")->{state}, '57014', "timeout of $sql");
	untouched("timeout of $sql");
	$session->send("EXPLAIN ($on) $sql");
	$session->wait_until_running('EXPLAIN', 0.2);
	is($session->interrupted($killer, 'pg_cancel_backend')->{state}, '57014', "cancel of $sql");
	untouched("cancel of $sql");
}
$session->query('SET max_parallel_workers_per_gather = 0');

# EXPLAIN of a query that calls a function, which executes another EXPLAIN
foreach my $inner ($on, 'ANALYZE', 'ANALYZE, TIMING OFF', 'COSTS')
{
	foreach my $outer ($on, 'ANALYZE')
	{
		$text = lines($outer, "SELECT inner_explain('$inner', 'SELECT count(*) FROM b') FROM a WHERE i < 3");
		is(clock_lines($text), $outer eq $on ? node_lines($text) : 0, "($inner) in ($outer): lines of ours") or diag $text;
		like($text, qr/actual time=\d+\.\d+\.\.\d+\.\d+ rows=2\.00 loops=1/, "($inner) in ($outer): rows and times");
		is($session->query('SHOW clocktiming.worker_observation')->{out}, '', "($inner) in ($outer): nothing is left");
	}
	$text = $session->query("SELECT inner_explain('$inner', 'SELECT count(*) FROM b')")->{out};
	is(clock_lines($text), $inner eq $on ? 2 : 0, "($inner) in a function: lines of ours") or diag $text;
}
# An inner EXPLAIN fails, the error is caught, and the outer EXPLAIN continues.
$session->query(q{CREATE FUNCTION caught() RETURNS integer LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM inner_explain('ANALYZE, CLOCK_SAMPLING', 'SELECT 1 / (i - 10) FROM b');
	EXCEPTION WHEN division_by_zero THEN
		RETURN 1;
	END $$});
$text = lines($on, 'SELECT caught() FROM a WHERE i < 4');
is(clock_lines($text), node_lines($text), 'nested, with an error that is caught') or diag $text;
like($text, qr/rows=3\.00 loops=1/, 'nested, with an error that is caught: rows');
# several statements in one string
is($session->query(qq{DO \$\$BEGIN EXECUTE 'EXPLAIN ($on) SELECT 1; EXPLAIN ANALYZE SELECT 2; EXPLAIN (ANALYZE, TIMING OFF) SELECT 3'; END\$\$})->{err},
	'', 'several statements');
untouched('nested');

# Memory, and many plans in succession
my $many = qq{DO \$\$BEGIN FOR i IN 1 .. 200 LOOP PERFORM inner_explain('$on',
	format('SELECT k, count(*) FROM (SELECT * FROM a WHERE i %% %s = 0 LIMIT %s) AS x JOIN b USING (k) GROUP BY k ORDER BY 2 LIMIT 5', 1 + i % 7, i)); END LOOP; END\$\$};
$session->query($many);
my $first = $session->memory;
is($session->query($many)->{state}, '00000', 'many plans') for 1 .. 3;
cmp_ok($session->memory - $first, '<', 100_000, 'memory does not grow');
$_->quit for $session, $killer;

# Ordinary roles may use the option, because it shows nothing that EXPLAIN ANALYZE does not show.
$node->safe_psql('postgres', 'CREATE ROLE regress_ordinary LOGIN; GRANT SELECT ON a TO regress_ordinary');
my $ordinary = ClockSession->new($node, user => 'regress_ordinary');
is($ordinary->query(q{LOAD 'clocktiming'})->{state}, '42501', 'an ordinary role may not load the library itself');
is($ordinary->query(q{LOAD '$libdir/plugins/clocktiming'})->{state}, '00000', 'an ordinary role may load the library from the directory plugins');
is(clock_lines($ordinary->query("EXPLAIN ($on) SELECT count(*) FROM a")->{out}), 2, 'an ordinary role may use the option');
is($ordinary->query("EXPLAIN ($on) SELECT count(*) FROM b")->{state}, '42501', 'the option grants no privileges');
$ordinary->quit;
$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');
unlike($log, qr/WARNING/, 'no warnings in the log');

# clocktiming and auto_explain are preloaded, in either order.
foreach my $libraries ('clocktiming, auto_explain', 'auto_explain, clocktiming')
{
	my $other = PostgreSQL::Test::Cluster->new($libraries =~ /^auto/ ? 'first' : 'last');
	my $s;
	my $result;

	$other->init;
	$other->append_conf('postgresql.conf', qq{
shared_preload_libraries = '$libraries'
auto_explain.log_min_duration = 0
auto_explain.log_nested_statements = on
});
	$other->start;
	$other->safe_psql('postgres', 'CREATE TABLE a AS SELECT i FROM generate_series(1, 20000) AS i; ANALYZE a; CREATE ROLE regress_ordinary LOGIN; GRANT SELECT ON a TO regress_ordinary');
	$s = ClockSession->new($other, user => 'regress_ordinary');
	$result = $s->query("EXPLAIN ($on) SELECT count(*) FROM a");
	is(clock_lines($result->{out}), 2, "$libraries: an ordinary role may use the option");
	$s->quit;
	$s = ClockSession->new($other);
	$result = $s->query("EXPLAIN ($on) SELECT count(*) FROM a");
	is(clock_lines($result->{out}), 2, "$libraries: log_analyze off");
	is($result->{err}, '', "$libraries: no warning");
	$s->query('SET auto_explain.log_analyze = on');
	$result = $s->query("EXPLAIN ($on) SELECT count(*) FROM a");
	like($result->{err}, qr/^WARNING:  EXPLAIN option CLOCK_SAMPLING has no effect\nDETAIL: .*\nHINT: .*auto_explain/, "$libraries: log_analyze on: a warning");
	is(clock_lines($result->{out}), 0, "$libraries: log_analyze on: nothing of ours");
	is(scalar(() = $result->{out} =~ /actual time=\d+\.\d+\.\.\d+\.\d+ rows=(?:1|20000)\.00 loops=1/g), 2, "$libraries: log_analyze on: the server's own times");
	$s->query('SET auto_explain.log_timing = off');
	$result = $s->query("EXPLAIN ($on) SELECT count(*) FROM a");
	is(clock_lines($result->{out}), 2, "$libraries: log_analyze on, log_timing off");
	is($result->{err}, '', "$libraries: log_analyze on, log_timing off: no warning");
	$s->query('RESET auto_explain.log_analyze; RESET auto_explain.log_timing');
	if ($version >= 190000)
	{
		$result = $s->query(q{SET auto_explain.log_extension_options = 'clock_sampling 64'});
		isnt($result->{state}, '00000', "$libraries: auto_explain may not use the option");
		like($result->{err}, qr/DETAIL:  EXPLAIN option "clock_sampling" is allowed in EXPLAIN statements only\./, "$libraries: the detail gives the reason");
	}
	$s->quit;
	$other->stop;
	unlike(slurp_file($other->logfile), qr/PANIC|terminated by signal|TRAP/, "$libraries: nothing has crashed");
}

done_testing();
