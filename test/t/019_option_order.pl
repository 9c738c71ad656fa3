
# The option CLOCK_SAMPLING applies only to the execution that EXPLAIN explains, not to other
# executions of the same statement. clock_explain() executes the query as often as documented. Other
# extensions' hooks receive only options that an EXPLAIN statement can have.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $module = "$ENV{CLOCKTIMING_SHIM_DIR}/../module/explain_fdw.so";
my $on = 'ANALYZE, CLOCK_SAMPLING';

sub node_lines { return scalar(() = $_[0] =~ /^(?:\w| +->  ).*\(actual time=/mg); }
sub clock_lines { return scalar(() = $_[0] =~ /^ +Clock: total /mg); }

foreach my $libraries ('clocktiming, auto_explain', 'auto_explain, clocktiming')
{
	my $node = PostgreSQL::Test::Cluster->new($libraries =~ /^auto/ ? 'first' : 'last');
	my $statements = -f $node->config_data('--sharedir') . '/extension/pg_stat_statements.control';
	my ($s, $result, $version);

	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries" . ($statements ? ', pg_stat_statements' : '') . "'\n" . q{
jit = off
autovacuum = off
compute_query_id = on
auto_explain.log_nested_statements = on
});
	$node->start;
	$node->safe_psql('postgres', qq{
	CREATE EXTENSION clocktiming;
	CREATE TABLE a AS SELECT i, md5(i::text) AS s FROM generate_series(1, 2000) AS i;
	CREATE TABLE b AS SELECT i FROM generate_series(1, 20) AS i;
	CREATE TABLE parts (k integer) PARTITION BY LIST (k);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
	ANALYZE;
	CREATE FUNCTION option_fdw_handler() RETURNS fdw_handler LANGUAGE c AS '$module';
	CREATE FUNCTION explain_without_statement(text) RETURNS void LANGUAGE c STRICT AS '$module';
	CREATE FOREIGN DATA WRAPPER option_fdw HANDLER option_fdw_handler;
	CREATE SERVER option_server FOREIGN DATA WRAPPER option_fdw;
	CREATE FOREIGN TABLE remote_rows (i integer) SERVER option_server;
	}
	# Functions that execute a query while auto_explain requests timers, with any settings of the
	# session. The planner, the start of the executor, or the execution calls the function.
	. join '', map { "CREATE FUNCTION $_->[0]() RETURNS integer LANGUAGE plpgsql $_->[1] SET auto_explain.log_min_duration = 0 SET auto_explain.log_analyze = on
		AS 'BEGIN RETURN (SELECT count(*) FROM b) / 20; END';" } ([ 'when_planned', 'IMMUTABLE' ], [ 'when_started', 'STABLE' ], [ 'when_run', 'VOLATILE' ]));
	$version = $node->safe_psql('postgres', 'SHOW server_version_num');
	$s = ClockSession->new($node);

	# Options of clocktiming's EXPLAIN that the foreign data wrapper receives: the grammar of
	# EXPLAIN must accept each option.
	foreach my $call (
		map({ "SELECT string_agg(line, '|' ORDER BY node) FROM clock_explain('SELECT count(*) FROM remote_rows', method => '$_')" } 'sampling', 'full'),
		q{SELECT clock_explain_text('SELECT count(*) FROM remote_rows')},
		q{SELECT clock_explain_json('SELECT count(*) FROM remote_rows')})
	{
		$result = $s->query($call);
		is($result->{state}, '00000', "$libraries: options for other extensions: $call") or diag $result->{err};
		is($result->{out}, 'Query|Aggregate|  Foreign Scan on remote_rows', "$libraries: lines") if $call =~ /string_agg/;
	}

	# Number of executions of a query
	SKIP:
	{
		skip 'pg_stat_statements is not there', 9 unless $statements;
		$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
		is($s->query(q{SET pg_stat_statements.track = 'all'})->{state}, '00000', "$libraries: pg_stat_statements");
		my @calls = ([ 'clock_explain', 'sampling', 1 ], [ 'clock_explain', 'full', 4 ],
			[ 'clock_explain_text', 'sampling', 1 ], [ 'clock_explain_json', 'full', 4 ]);
		foreach my $call (@calls)
		{
			my ($function, $method, $executions) = @$call;

			$s->query('SELECT pg_stat_statements_reset()');
			$s->query("SELECT $function('SELECT count(*) FROM b', method => '$method')");
			is($s->query(q{SELECT calls FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM b'})->{out}, $executions,
				"$libraries: $function, $method: executions seen by pg_stat_statements");
		}

		# clock_impact() ignores an error in pg_stat_statements, but not a cancellation, lack of
		# memory, or a failed assertion.
		$node->safe_psql('postgres', q{
			ALTER EXTENSION pg_stat_statements DROP VIEW pg_stat_statements;
			DROP VIEW pg_stat_statements;
			CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = current_setting(''test.code''); END';
			CREATE VIEW pg_stat_statements AS SELECT 1 AS calls, 1 AS rows, true AS toplevel, fails() AS query, 1 AS temp_blks_read, 1 AS temp_blks_written});
		foreach my $error ([ '22012', '00000' ], [ '53200', '53200' ], [ '57014', '57014' ], [ 'P0004', 'P0004' ])
		{
			my ($code, $state) = @$error;

			$s->query("SET test.code = '$code'");
			is($s->query('SELECT count(*) FROM clock_impact()')->{state}, $state, "$libraries: an error $code in pg_stat_statements");
		}
	}
	$s->query('SET client_min_messages = log; SET auto_explain.log_level = log; SET auto_explain.log_min_duration = 0');
	$result = $s->query(q{SELECT node FROM clock_explain('SELECT count(*) FROM b')});
	is(scalar(() = $result->{err} =~ /Query Text: SELECT count/g), 1, "$libraries: executions seen by auto_explain") or diag $result->{err};
	$s->query('RESET client_min_messages; RESET auto_explain.log_min_duration');

	if ($version >= 180000)
	{
		# Queries during which auto_explain instruments another statement: before the explained
		# execution, at its start, and during it
		$s->query('SET plan_cache_mode = force_generic_plan; PREPARE p(integer) AS SELECT count(*) FROM a WHERE i < $1; PREPARE q AS SELECT count(*) FROM a WHERE i < when_planned()');
		foreach my $query (
			'SELECT count(*) FROM a WHERE i < when_planned()',
			'EXECUTE p(when_run())',
			'EXECUTE q',
			'CREATE TABLE made AS EXECUTE p(when_run())',
			'CREATE TABLE made_2 AS SELECT count(*) FROM a WHERE i < when_planned()',
			'DECLARE c CURSOR FOR SELECT count(*) FROM a WHERE i < when_planned()',
			'SELECT * FROM parts WHERE k = when_started()',
			'SELECT when_run() FROM b')
		{
			$result = $s->query("EXPLAIN ($on) $query");
			is($result->{state}, '00000', "$libraries: $query") or diag $result->{err};
			is($result->{err}, '', "$libraries: $query: no warning");
			cmp_ok(node_lines($result->{out}), '>=', 1, "$libraries: $query: a plan with times");
			is(clock_lines($result->{out}), node_lines($result->{out}), "$libraries: $query: a line of ours for each node") or diag $result->{out};
		}
		# EXPLAIN in a DO statement. The statement after it uses the same memory context, and must
		# cause no warning.
		$result = $s->query(qq{DO \$\$BEGIN SET LOCAL auto_explain.log_min_duration = 0; EXECUTE 'EXPLAIN ($on) SELECT 1; SET LOCAL auto_explain.log_analyze = on; SELECT count(*) FROM b'; END\$\$});
		is($result->{err}, '', "$libraries: a statement after EXPLAIN");

		# With SERIALIZE, the server times only the serialization, and not the nodes.
		foreach my $format ('TEXT', 'BINARY')
		{
			$result = $s->query("EXPLAIN ($on, SERIALIZE $format) SELECT x.* FROM a AS x, b");
			like($result->{out}, qr/^Serialization: time=\d+\.\d+ ms /m, "$libraries: SERIALIZE $format");
			unlike($result->{out}, qr/^Serialization: time=0\.000 ms/m, "$libraries: SERIALIZE $format: the time is not 0");
			is(clock_lines($result->{out}), node_lines($result->{out}), "$libraries: SERIALIZE $format: lines of ours");
		}
		# A rule that replaces the statement by two others. EXPLAIN shows two plans, and only the
		# second one returns rows to serialize.
		$s->query('CREATE VIEW v AS SELECT 1 AS i; CREATE RULE r AS ON UPDATE TO v DO INSTEAD (INSERT INTO b SELECT 1 WHERE false; SELECT * FROM a)');
		$result = $s->query("EXPLAIN ($on, SERIALIZE) UPDATE v SET i = 2");
		is(clock_lines($result->{out}), node_lines($result->{out}), "$libraries: rules: lines of ours");
		like($result->{out}, qr/^Serialization: time=(?!0\.000).*\z/ms, "$libraries: rules: serialization is timed");

		# EXPLAIN of another extension leaves no state behind.
		foreach my $outer ('', 'EXPLAIN ANALYZE ', "EXPLAIN ($on) ")
		{
			$result = $s->query("${outer}SELECT explain_without_statement('EXPLAIN ($on) SELECT count(*) FROM b')");
			like($result->{err}, qr/^WARNING:  EXPLAIN option CLOCK_SAMPLING has no effect\nDETAIL:  EXPLAIN is not executed as a statement, but by another extension\./,
				"$libraries: ${outer}EXPLAIN by another extension: a warning");
			is(scalar(() = $result->{err} =~ /WARNING/g), 1, "$libraries: ${outer}EXPLAIN by another extension: one warning only");
			is(clock_lines($result->{out}), $outer =~ /CLOCK/ ? node_lines($result->{out}) : 0, "$libraries: ${outer}EXPLAIN by another extension: lines of ours");
		}
		$s->query('SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on');
		is($s->query('SELECT count(*) FROM b')->{err}, '', "$libraries: EXPLAIN by another extension does not affect the next statement") for 1 .. 3;
		$s->query('RESET auto_explain.log_min_duration; RESET auto_explain.log_analyze');
	}
	$s->quit;
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal|TRAP/, "$libraries: nothing has crashed");
}

done_testing();
