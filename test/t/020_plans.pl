
# For plans of every kind, clock_explain() must return the same rows, loops and other counts of the
# nodes as EXPLAIN (ANALYZE, TIMING OFF), with each method and with the option CLOCK_SAMPLING.

use strict;
use warnings;

use JSON::PP;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ClockSession;

my $module = "$ENV{CLOCKTIMING_SHIM_DIR}/../module/custom_scan.so";
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
jit = off
autovacuum = off
max_worker_processes = 24
max_parallel_workers = 16
max_parallel_workers_per_gather = 0
});
$node->start;

my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $has_fdw = -f $node->config_data('--sharedir') . '/extension/postgres_fdw.control';

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE t AS SELECT i, i % 100 AS k, i % 700 AS m, md5(i::text) AS s FROM generate_series(1, 10000) AS i;
	CREATE TABLE copy AS SELECT * FROM t;
	CREATE UNIQUE INDEX t_i ON t (i);
	CREATE INDEX t_k ON t (k);
	CREATE TABLE u AS SELECT i, i % 50 AS k FROM generate_series(1, 3000) AS i;
	CREATE UNIQUE INDEX u_i ON u (i);
	CREATE TABLE few AS SELECT i FROM generate_series(1, 10) AS i;
	CREATE TABLE custom_1 AS SELECT * FROM u;
	CREATE TABLE custom_10 AS SELECT * FROM u;
	CREATE TABLE custom_0 AS SELECT * FROM u;
	CREATE TABLE custom_10_twin AS SELECT * FROM u;
	CREATE TABLE custom_10_batch AS SELECT * FROM u;
	CREATE TABLE p (i integer, k integer) PARTITION BY RANGE (i);
	CREATE TABLE q (i integer, k integer) PARTITION BY RANGE (i);
	SELECT format('CREATE TABLE %s_%s PARTITION OF %s FOR VALUES FROM (%s) TO (%s)', n, m, n, m * 1000, (m + 1) * 1000)
		FROM unnest('{p,q}'::text[]) AS n, generate_series(0, 3) AS m \gexec
	INSERT INTO p SELECT i, i % 100 FROM generate_series(0, 3999) AS i;
	INSERT INTO q SELECT i, i % 10 FROM generate_series(0, 3999, 3) AS i;
	CREATE INDEX ON p (i);

	CREATE TABLE w (i integer PRIMARY KEY, k integer);
	INSERT INTO w SELECT i, 0 FROM generate_series(1, 500) AS i;
	CREATE TABLE moved (i integer, k integer) PARTITION BY LIST (k);
	CREATE TABLE moved_0 PARTITION OF moved FOR VALUES IN (0);
	CREATE TABLE moved_1 PARTITION OF moved FOR VALUES IN (1);
	INSERT INTO moved SELECT i, i % 2 FROM generate_series(1, 100) AS i;
	CREATE TABLE fired (i integer);
	CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE
			n bigint;
		BEGIN
			SELECT count(*) INTO n FROM new_rows;
			INSERT INTO few SELECT n FROM few WHERE i < 3;
			RETURN NULL;
		END $$;
	CREATE TRIGGER fire AFTER INSERT ON fired REFERENCING NEW TABLE AS new_rows
		FOR EACH STATEMENT EXECUTE FUNCTION fire();
	CREATE TABLE locked (i integer PRIMARY KEY, k integer);
	INSERT INTO locked SELECT i, 0 FROM generate_series(1, 50) AS i;

	-- Uses cursors: fetches some of the rows, moves backward, and leaves a cursor open.
	CREATE FUNCTION fetches(query text) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE
			c refcursor;
			r record;
			n bigint := 0;
		BEGIN
			OPEN c SCROLL FOR EXECUTE query;
			FETCH c INTO r;
			MOVE FORWARD 5 IN c;
			FETCH c INTO r;
			n := n + r.i;
			MOVE BACKWARD 3 IN c;
			FETCH c INTO r;
			n := n + r.i;
			FETCH LAST FROM c INTO r;
			FETCH ABSOLUTE 2 FROM c INTO r;
			n := n + r.i;
			CLOSE c;
			OPEN c FOR EXECUTE query;
			FETCH c INTO r;
			RETURN n;
		END $$;
	CREATE FUNCTION loops_over(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE
			r record;
			sum bigint := 0;
		BEGIN
			FOR r IN SELECT i FROM u ORDER BY i LOOP
				EXIT WHEN r.i > n;
				sum := sum + r.i;
			END LOOP;
			RETURN sum;
		END $$;
	VACUUM ANALYZE;
});
if ($has_fdw)
{
	my ($host, $port) = ($node->host, $node->port);

	$node->safe_psql(
		'postgres', qq{
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER one FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE SERVER two FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
		CREATE SERVER three FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER one;
		CREATE USER MAPPING FOR CURRENT_USER SERVER two;
		CREATE USER MAPPING FOR CURRENT_USER SERVER three;
		CREATE TABLE remote (i integer, k integer);
		INSERT INTO remote SELECT i, i % 10 FROM generate_series(1, 1000) AS i;
		CREATE FOREIGN TABLE f (i integer, k integer) SERVER one OPTIONS (table_name 'remote');
		CREATE FOREIGN TABLE g (i integer, k integer) SERVER one OPTIONS (table_name 'u');
		CREATE FOREIGN TABLE f_batch (i integer, k integer) SERVER one OPTIONS (table_name 'remote', batch_size '30');
		CREATE FOREIGN TABLE a2 (i integer, k integer) SERVER two OPTIONS (table_name 'remote');
		CREATE FOREIGN TABLE a3 (i integer, k integer) SERVER three OPTIONS (table_name 'u');
		ANALYZE f, g, a2, a3;
	});
}

my $json = JSON::PP->new->canonical;
my $session = ClockSession->new($node);
$session->query(q{LOAD 'clocktiming'}) if $version >= 180000;

# Ways to explain a plan: method of clock_explain(), or "option" for EXPLAIN's option CLOCK_SAMPLING.
my @methods = ('sampling', 'full', $version >= 180000 ? 'option' : ());

# Keys of EXPLAIN's JSON that are not compared: times, estimates, and clocktiming's own.
my $no_count = qr/^(Waits|Actual (Startup|Total) Time|(Startup|Total) Cost|Plan (Rows|Width)|Clock .*)$/;

# Keys that differ between executions of a parallel plan, because the server prints them only for
# one process, or only for some.
my $of_a_process = qr/^(Workers|Cache (Key|Mode|Hits|Misses|Evictions|Overflows)|(Exact|Lossy) Heap Blocks|Peak Memory Usage|Disk Usage
	|(Original )?Hash (Buckets|Batches)|HashAgg Batches|Planned Partitions|Sort (Method|Space (Used|Type))
	|(Full-sort|Pre-sorted) Groups|Index Searches)$/x;

# Returns the nodes of a plan in EXPLAIN's order. Sets Shared for nodes that several processes
# execute, and for asynchronous nodes.
sub nodes_of
{
	my ($plan, $depth, $shared) = @_;

	$plan->{Depth} = $depth // 0;
	$plan->{Shared} = $shared || $plan->{'Async Capable'};
	$shared ||= $plan->{'Node Type'} =~ /^Gather/;
	return ($plan, map { nodes_of($_, $plan->{Depth} + 1, $shared) } @{ $plan->{Plans} // [] });
}

# Returns a line for each node of EXPLAIN's JSON, with all of its counts.
sub lines_of
{
	my ($explained, $how) = @_;
	my @lines;

	for my $plan (nodes_of($explained->{Plan}))
	{
		my @keys = grep { !/$no_count/ && !/^(Plans|Depth|Shared|Node Type)$/ } sort keys %$plan;

		@keys = grep { !/$of_a_process/ } @keys if $how->{parallel};
		@keys = grep { !/^(Actual (Rows|Loops)|Rows Removed by .*)$/ } @keys if $how->{loops_vary} && $plan->{Shared};
		push @lines, ('  ' x $plan->{Depth}) . join '; ', $plan->{'Node Type'},
		  map { my $value = $plan->{$_}; "$_=" . (ref $value ? $json->encode($value) : $value) } @keys;
	}
	push @lines, "Trigger $_->{'Trigger Name'}: $_->{Calls}" for @{ $explained->{Triggers} // [] };
	return join("\n", @lines) . "\n";
}

sub query
{
	my ($statement) = @_;
	my $result = $session->query($statement);

	return $result->{out} if $result->{state} eq '00000';
	diag "$statement\n$result->{err}";
	return;
}

# Returns the JSON of EXPLAIN (ANALYZE, ...). Rolls back the statement.
sub explained
{
	my ($options, $sql) = @_;

	$options .= ', BUFFERS OFF' if $version >= 180000;
	query('BEGIN');
	my $text = query("EXPLAIN (ANALYZE, $options, FORMAT JSON) $sql");
	query('ROLLBACK');
	return defined $text ? decode_json($text)->[0] : undef;
}

# Returns the JSON of clock_explain_json(), or of EXPLAIN with the option.
sub clock_explained
{
	my ($method, $sql) = @_;

	return explained('CLOCK_SAMPLING', $sql) if $method eq 'option';
	my $text = query("SELECT clock_explain_json(\$query\$$sql\$query\$, '$method', allow_writes => true)");
	return defined $text ? decode_json($text)->[0] : undef;
}

# Returns a list [ type, loops, rows ] for each node, as clock_explain() returns
# them. Omits row 0, which describes the whole query.
sub clock_rows
{
	my ($method, $sql) = @_;
	my $out = query(qq{SELECT node_type, loops, rows
		FROM clock_explain(\$query\$$sql\$query\$, '$method', allow_writes => true) WHERE node <> 0 ORDER BY node});

	return [ map { [ split /\|/, $_, -1 ] } split /\n/, $out // '' ];
}

# Returns the differences between EXPLAIN's plan ($expected) and the JSON ($got) and rows ($rows) of
# clocktiming, as text. EXPLAIN rounds rows per loop, so numbers of rows are also compared with
# those of the method full ($full).
sub differences
{
	my ($how, $expected, $full, $got, $rows) = @_;
	my @differences;
	my @nodes = nodes_of($expected->{Plan});

	if (defined $got && lines_of($got, $how) ne lines_of($expected, $how))
	{
		my @expected = split /\n/, lines_of($expected, $how);
		my @got = split /\n/, lines_of($got, $how);

		for my $i (0 .. max($#expected, $#got))
		{
			my ($e, $g) = ($expected[$i] // 'nothing', $got[$i] // 'nothing');
			push @differences, "not\n$e\nbut\n$g" if $e ne $g;
		}
	}
	push @differences, @$rows . ' rows of ' . @nodes . ' nodes' if defined $rows && @$rows != @nodes;
	return join "\n", @differences if !defined $rows || @$rows != @nodes;

	for my $i (0 .. $#nodes)
	{
		my ($type, $loops, $sum) = @{ $rows->[$i] };
		my $is = "row of $nodes[$i]{'Node Type'}: $type, loops '$loops', rows '$sum'";
		my ($e_loops, $e_rows) = @{ $nodes[$i] }{ 'Actual Loops', 'Actual Rows' };

		next if $how->{loops_vary} && $nodes[$i]{Shared};
		push @differences, "$is, not $e_loops loops of $e_rows rows"
		  if $type ne $nodes[$i]{'Node Type'} || $loops ne $e_loops ||
		  abs(($sum || 0) - $e_rows * $e_loops) > ($version >= 180000 ? 0.0051 : 0.51) * $e_loops;
		push @differences, "$is, not $full->[$i][1] and $full->[$i][2] as by method full"
		  if $loops ne $full->[$i][1] || $sum ne $full->[$i][2];
	}
	return join "\n", @differences;
}

# Checks a plan: name, statement, and options.
#   set         settings
#   like        patterns that lines of lines_of() must match
#   parallel    the plan is parallel: ignores keys of $of_a_process, and repeats the executions until
#               two of them agree, because the work is divided differently each time
#   loops_vary  ignores rows and loops of shared nodes, except for the totals in "rows"
#   rows        known total of rows of each type of node
my $in_parallel = 'parallel_setup_cost=0; parallel_tuple_cost=0; min_parallel_table_scan_size=0;'
  . ' min_parallel_index_scan_size=0; max_parallel_workers_per_gather=2';

sub plan_is_exact
{
	my ($name, $sql, %how) = @_;
	my @settings = split /; */, join '; ', ($how{parallel} ? $in_parallel : ()), $how{set} // ();
	my $attempts = $how{parallel} ? 30 : 1;
	my ($expected, $full);

	query("SET $_") for @settings;
	for my $how (@methods)
	{
		my ($got, $rows, $difference);

		for (1 .. $attempts)
		{
			if ($attempts > 1 || !defined $expected)
			{
				$expected = explained('TIMING OFF', $sql);
				$full = clock_rows('full', $sql);
			}
			last if !defined $expected;
			$got = clock_explained($how, $sql);
			$rows = clock_rows($how, $sql) if $how ne 'option';
			$difference = differences(\%how, $expected, $full, $got, $rows);
			last if $difference eq '';
		}
		is($difference, '', "$name, $how: as EXPLAIN ANALYZE counts")
		  or diag(defined $expected ? lines_of($expected, {}) : 'no plan');
		last if !defined $expected;

		for my $pattern (@{ $how{like} // [] })
		{
			like(lines_of($expected, {}), $pattern, "$name: the plan has the intended nodes") if $how eq $methods[0];
		}
		for my $type (sort keys %{ $how{rows} // {} })
		{
			my @sums = map { $_->[2] } grep { $_->[0] eq $type } @{ $rows // [] };

			is("@sums", $how{rows}{$type}, "$name, $how: rows of $type") if defined $rows;
		}
	}
	query('RESET ' . (split /=/, $_)[0]) for @settings;
	return;
}

#
# Parallel plans
#

my $removed = qr/Rows Removed by Filter=[1-9]/;
my $launched = qr/^ *Gather.*; Workers Launched=2/m;

plan_is_exact('parallel scan, filter', 'SELECT * FROM t WHERE i % 10 = 0', parallel => 1,
	like => [ $launched, qr/^  Seq Scan.*Parallel Aware=true.*$removed/m ], rows => { Gather => 1000, 'Seq Scan' => 1000 });
plan_is_exact('parallel scan, filter, one worker', 'SELECT * FROM t WHERE i % 10 = 0', parallel => 1,
	set => 'max_parallel_workers_per_gather=1', like => [ qr/^Gather.*Workers Launched=1/, $removed ],
	rows => { Gather => 1000, 'Seq Scan' => 1000 });
plan_is_exact('parallel scan, filter, no leader', 'SELECT * FROM t WHERE i % 10 = 0', parallel => 1,
	set => 'parallel_leader_participation=off', like => [ $launched, qr/^  Seq Scan.*Actual Loops=2.*$removed/m ],
	rows => { Gather => 1000, 'Seq Scan' => 1000 });
plan_is_exact('workers that do not start', 'SELECT * FROM t WHERE i % 10 = 0', parallel => 1,
	set => 'max_parallel_workers=0', like => [ qr/^Gather.*Workers Launched=0; Workers Planned=2/, qr/^  Seq Scan.*Actual Loops=1;.*$removed/m ],
	rows => { Gather => 1000, 'Seq Scan' => 1000 });
plan_is_exact('workers that do not all start', 'SELECT * FROM t WHERE i % 10 = 0', parallel => 1,
	set => 'max_parallel_workers=1', like => [ qr/^Gather.*Workers Launched=1; Workers Planned=2/, $removed ],
	rows => { Gather => 1000, 'Seq Scan' => 1000 });
plan_is_exact('Gather Merge, filter', 'SELECT * FROM t WHERE i % 10 = 0 ORDER BY s', parallel => 1,
	like => [ qr/^Gather Merge.*Workers Launched=2/, qr/^  Sort/m, $removed ], rows => { 'Gather Merge' => 1000, Sort => 1000 });
plan_is_exact('Gather Merge of an index scan', 'SELECT i, s FROM t WHERE k < 50 ORDER BY i', parallel => 1,
	set => 'enable_sort=off; enable_seqscan=off; enable_bitmapscan=off',
	like => [ qr/^Gather Merge.*Workers Launched=2/, qr/^  Index Scan.*Parallel Aware=true.*$removed/m ], rows => { 'Gather Merge' => 5000 });
plan_is_exact('partial aggregate', 'SELECT count(*) FROM t WHERE i % 10 = 0', parallel => 1,
	like => [ $launched, qr/Partial Mode=Partial/, $removed ], rows => { 'Seq Scan' => 1000 });
plan_is_exact('finalized groups', 'SELECT k, count(*) FROM t WHERE k <> 50 GROUP BY k', parallel => 1,
	set => 'enable_hashagg=off; enable_indexscan=off; enable_indexonlyscan=off; enable_bitmapscan=off', like => [ qr/^Aggregate.*Partial Mode=Finalize/, qr/^  Gather Merge.*Workers Launched=2/m ],
	rows => { 'Seq Scan' => 9900 });
plan_is_exact('parallel append of whole scans', 'SELECT * FROM p WHERE k < 50', parallel => 1,
	set => q{min_parallel_table_scan_size='1GB'; parallel_leader_participation=off},
	like => [ $launched, qr/^  Append.*Parallel Aware=true/m, qr/^    Seq Scan.*Parallel Aware=false.*$removed/m ],
	rows => { Gather => 2000, Append => 2000 });
plan_is_exact('parallel append of parallel scans', 'SELECT * FROM p WHERE k < 50', parallel => 1, loops_vary => 1,
	like => [ $launched, qr/^  Append.*Parallel Aware=true/m, qr/^    Seq Scan.*Parallel Aware=true.*$removed/m ],
	rows => { Gather => 2000, Append => 2000, 'Seq Scan' => '500 500 500 500' });
plan_is_exact('parallel hash join', 'SELECT count(*) FROM t JOIN u ON t.i = u.i AND t.k <> u.k WHERE t.k < 80', parallel => 1, loops_vary => 1,
	set => 'enable_mergejoin=off; enable_nestloop=off',
	like => [ $launched, qr/Hash Join.*Parallel Aware=true.*Rows Removed by Join Filter=[1-9]/, qr/^ *Hash;.*Parallel Aware=true/m, $removed ],
	rows => { 'Hash Join' => 900, 'Seq Scan' => '8000 3000', Hash => 3000 });
plan_is_exact('parallel hash join, batches', 'SELECT count(*) FROM t JOIN copy AS o ON t.i = o.i', parallel => 1, loops_vary => 1,
	set => 'enable_mergejoin=off; enable_nestloop=off; work_mem=64',
	like => [ $launched, qr/Hash;.*Hash Batches=([2-9]|\d\d).*Parallel Aware=true/ ], rows => { 'Hash Join' => 10000, 'Seq Scan' => '10000 10000', Hash => 10000 });
plan_is_exact('parallel hash join without a row', 'SELECT t.i FROM t JOIN copy AS o ON nullif(t.i, t.i) = o.i', parallel => 1,
	set => 'enable_mergejoin=off; enable_nestloop=off',
	like => [ $launched, qr/^  Hash Join.*Actual Loops=3.*Parallel Aware=true/m ], rows => { 'Hash Join' => 0 });
plan_is_exact('hash join in each process', 'SELECT count(*) FROM t JOIN (SELECT * FROM u WHERE i < 400) AS u ON t.i = u.i AND t.k <> u.k WHERE t.k <> 80', parallel => 1, loops_vary => 1,
	set => 'enable_mergejoin=off; enable_nestloop=off; enable_parallel_hash=off',
	like => [ $launched, qr/Hash; .*Parallel Aware=false/, $removed ], rows => { 'Hash Join' => 196, 'Seq Scan' => 9900 });
plan_is_exact('parallel nested loop', 'SELECT t.i FROM u JOIN t ON t.i = u.i * 2 AND t.k < 10 WHERE u.k < 25', parallel => 1,
	set => 'enable_hashjoin=off; enable_mergejoin=off; enable_memoize=off; enable_bitmapscan=off',
	like => [ $launched, qr/Index Scan.*Actual Loops=1500.*$removed/ ], rows => { 'Nested Loop' => 300 });
plan_is_exact('parallel merge join', 'SELECT count(*) FROM t JOIN u ON t.i = u.i WHERE t.k < 60', parallel => 1,
	set => 'enable_hashjoin=off; enable_nestloop=off; enable_sort=off', like => [ $launched, qr/Merge Join/ ],
	rows => { 'Merge Join' => 1800 });
plan_is_exact('parallel bitmap scan', 'SELECT count(s) FROM t WHERE k < 7 AND i % 3 = 0', parallel => 1,
	set => 'enable_seqscan=off; enable_indexscan=off',
	like => [ $launched, qr/^ *Bitmap Heap Scan.*Parallel Aware=true.*$removed/m ], rows => { 'Bitmap Heap Scan' => 233 });
plan_is_exact('InitPlan of a parallel plan', 'SELECT * FROM t WHERE k = (SELECT max(k) FROM u WHERE i % 2 = 0)', parallel => 1,
	set => 'enable_indexscan=off; enable_bitmapscan=off', like => [ qr/Gather(.|\n)*Gather/, qr/Parent Relationship=InitPlan/, $removed ]);
plan_is_exact('hashed SubPlan in workers', 'SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM u WHERE k < 40)', parallel => 1,
	like => [ $launched, qr/Parent Relationship=SubPlan/, $removed ]);
plan_is_exact('LIMIT above Gather', 'SELECT * FROM t WHERE i % 10 = 0 LIMIT 10', parallel => 1, loops_vary => 1,
	like => [ qr/^Limit/, qr/^  Gather;/m ], rows => { Limit => 10, Gather => 10 });
plan_is_exact('LIMIT above Gather Merge', 'SELECT * FROM t WHERE i % 10 = 0 ORDER BY s LIMIT 10', parallel => 1, loops_vary => 1,
	like => [ qr/^Limit/, qr/^  Gather Merge;.*Workers Launched=2/m, $removed ], rows => { Limit => 10, 'Gather Merge' => 10, 'Seq Scan' => 1000 });
plan_is_exact('rescans of Gather',
	'SELECT * FROM (VALUES (1), (2), (3)) AS v (x) LEFT JOIN (SELECT i, k FROM t WHERE i % 1000 < 5 OFFSET 0) AS c ON c.k >= v.x',
	parallel => 1, set => 'enable_material=off', like => [ qr/^  Gather.*Actual Loops=3;.*Workers Launched=2/m, $removed ],
	rows => { Gather => 150, 'Seq Scan' => 150 });
plan_is_exact('rescans of Gather Merge',
	'SELECT * FROM (VALUES (1), (2), (3)) AS v (x) LEFT JOIN (SELECT i, k FROM t WHERE i % 1000 < 5 ORDER BY s OFFSET 0) AS c ON c.k >= v.x',
	parallel => 1, set => 'enable_material=off', like => [ qr/^ *Gather Merge.*Actual Loops=3;.*Workers Launched=2/m, $removed ],
	rows => { 'Gather Merge' => 150, 'Seq Scan' => 150 });
plan_is_exact('partitionwise aggregate in parallel', 'SELECT k, count(*) FROM p WHERE k <> 50 GROUP BY k', parallel => 1, loops_vary => 1,
	set => 'enable_partitionwise_aggregate=on; enable_sort=off', like => [ $launched, qr/(Aggregate.*Partial Mode=Partial(.|\n)*){4}/, $removed ],
	rows => { 'Seq Scan' => '990 990 990 990' });
plan_is_exact('partitionwise join in parallel', 'SELECT count(*) FROM p JOIN q USING (i) WHERE p.k < 50', parallel => 1, loops_vary => 1,
	set => 'enable_partitionwise_join=on; enable_mergejoin=off; enable_nestloop=off',
	like => [ $launched, qr/(Hash Join(.|\n)*){4}/, $removed ], rows => { 'Hash Join' => '167 167 166 167' });
plan_is_exact('run-time pruning in parallel', 'SELECT count(*) FROM p WHERE i < (SELECT max(i) * 100 FROM few) AND k < 90', parallel => 1,
	loops_vary => 1, like => [ qr/Workers Launched=2/, qr/Seq Scan.*Actual Loops=0/, $removed ], rows => { 'Seq Scan' => '10 900 0 0 0' });

#
# Scans
#

plan_is_exact('TABLESAMPLE BERNOULLI', 'SELECT * FROM t TABLESAMPLE BERNOULLI (30) REPEATABLE (1) WHERE k < 50',
	like => [ qr/^Sample Scan.*$removed/ ]);
plan_is_exact('TABLESAMPLE SYSTEM', 'SELECT * FROM t TABLESAMPLE SYSTEM (30) REPEATABLE (1)', like => [ qr/^Sample Scan/ ]);
plan_is_exact('TID scan', q{SELECT * FROM t WHERE ctid IN ('(0,1)', '(0,2)', '(1,3)') AND i > 1}, like => [ qr/^Tid Scan.*$removed/ ],
	rows => { 'Tid Scan' => 2 });
plan_is_exact('TID scans of a join', 'SELECT * FROM few JOIN t ON t.ctid = (\'(0,\' || few.i || \')\')::tid', set => 'enable_hashjoin=off; enable_mergejoin=off',
	like => [ qr/^  Tid Scan.*Actual Loops=10;/m ], rows => { 'Tid Scan' => 10 });
plan_is_exact('TID range', q{SELECT * FROM t WHERE ctid >= '(1,0)' AND ctid < '(5,0)' AND k < 50}, like => [ qr/^Tid Range Scan.*$removed/ ]);
plan_is_exact('bitmaps', 'SELECT * FROM t WHERE (k < 5 OR i < 100) AND i % 2 = 0', set => 'enable_seqscan=off; enable_indexscan=off',
	like => [ qr/BitmapOr/, qr/(Bitmap Index Scan(.|\n)*){2}/, $removed ]);
plan_is_exact('index only scan', 'SELECT i FROM t WHERE i < 5000 AND i % 7 > 2', set => 'enable_seqscan=off; enable_bitmapscan=off',
	like => [ qr/^Index Only Scan.*Heap Fetches=0.*$removed/ ]);
plan_is_exact('index scan backwards', 'SELECT i FROM t WHERE k < 60 ORDER BY i DESC LIMIT 50', like => [ qr/Scan Direction=Backward/ ]);
plan_is_exact('functions in FROM', 'SELECT * FROM ROWS FROM (generate_series(1, 1000), generate_series(1, 300)) WITH ORDINALITY AS r (a, b, n) WHERE a % 3 = 0',
	like => [ qr/^Function Scan.*$removed/ ], rows => { 'Function Scan' => 333 });
plan_is_exact('functions in loops', 'SELECT * FROM few, generate_series(1, few.i * 10) AS g WHERE g % 2 = 0',
	like => [ qr/Function Scan.*Actual Loops=10;.*$removed/ ], rows => { 'Function Scan' => 275 });
plan_is_exact('sets in the target list', 'SELECT generate_series(1, few.i), generate_series(1, 3) FROM few', like => [ qr/^ProjectSet/ ],
	rows => { ProjectSet => 58 });
plan_is_exact('values', 'SELECT * FROM few, (VALUES (1), (5), (20)) AS v (x) WHERE v.x > few.i', like => [ qr/Values Scan.*Actual Loops=1/ ]);
plan_is_exact('JSON_TABLE', q{SELECT * FROM few, JSON_TABLE('[1,2,3,4]', '$[*]' COLUMNS (x integer PATH '$')) AS j WHERE x > few.i},
	like => [ qr/Table Function Scan/ ]) if $version >= 170000;
plan_is_exact('a result that is known', 'SELECT * FROM t WHERE i < 0 AND false', like => [ qr/^Result.*Actual Rows=0/ ]);
plan_is_exact('a one-time filter', q{SELECT * FROM t WHERE current_setting('port') = 'no'}, like => [ qr/Seq Scan; Actual Loops=0/ ]);

#
# Joins
#

plan_is_exact('Memoize', 'SELECT count(*) FROM t JOIN u ON u.i = t.k', set => 'enable_hashjoin=off; enable_mergejoin=off',
	like => [ qr/^ *Memoize; .*Cache Evictions=0; Cache Hits=9900/m ], rows => { Memoize => 9900 });
plan_is_exact('Memoize, evictions', 'SELECT count(*) FROM t JOIN u ON u.i = t.m WHERE u.k < 40',
	set => 'enable_hashjoin=off; enable_mergejoin=off; enable_material=off; work_mem=64; hash_mem_multiplier=1; enable_bitmapscan=off',
	like => [ qr/^ *Memoize; .*Cache Evictions=[1-9]/m ], rows => { Memoize => 7986 });
plan_is_exact('hash join, batches', 'SELECT count(*) FROM t JOIN copy AS o ON t.i = o.i AND o.k <> 7',
	set => 'enable_mergejoin=off; enable_nestloop=off; work_mem=64; hash_mem_multiplier=1', like => [ qr/^ *Hash; .*; Hash Batches=([2-9]|\d\d)/m ],
	rows => { 'Hash Join' => 9900 });
plan_is_exact('hash join, more batches than planned',
	'SELECT count(*) FROM t JOIN (SELECT * FROM copy WHERE i + 1 > 0 AND i + 2 > 0 AND i + 3 > 0 AND i + 4 > 0 AND i + 5 > 0) AS o ON t.i = o.i',
	set => 'enable_mergejoin=off; enable_nestloop=off; work_mem=64; hash_mem_multiplier=1; enable_indexscan=off; enable_bitmapscan=off',
	like => [ qr/Hash Batches=([2-9]|\d\d).*Original Hash Batches=1;/ ], rows => { 'Hash Join' => 10000 });
plan_is_exact('hash joins of all kinds',
	'SELECT count(*) FROM (SELECT i FROM few WHERE i > 3) AS a FULL JOIN few AS b ON a.i = b.i + 2 WHERE NOT EXISTS (SELECT FROM u WHERE u.i = b.i * 2 AND u.k > 9)',
	set => 'enable_mergejoin=off; enable_nestloop=off', like => [ qr/Join Type=Full/, qr/Join Type=(Right )?Anti/ ]);
plan_is_exact('merge join, mark and restore', 'SELECT count(*) FROM t JOIN u ON t.k = u.k AND t.i <> u.i',
	set => 'enable_hashjoin=off; enable_nestloop=off; enable_material=off',
	like => [ qr/Merge Join.*Rows Removed by Join Filter=[1-9]/, qr/^ *Sort; Actual Loops=1; Actual Rows=299901/m ]);
plan_is_exact('merge join, Materialize', 'SELECT count(*) FROM t JOIN u ON t.k = u.k AND t.i <> u.i WHERE u.i < 500',
	set => 'enable_hashjoin=off; enable_nestloop=off', like => [ qr/Merge Join/ ]);
plan_is_exact('merge join, left', 'SELECT count(t.k) FROM u LEFT JOIN t ON t.i = u.i + 9000', set => 'enable_hashjoin=off; enable_nestloop=off',
	like => [ qr/Merge Join.*Join Type=(Left|Right)/ ]);
plan_is_exact('nested loop, semi', 'SELECT count(*) FROM t WHERE EXISTS (SELECT FROM u WHERE u.k = t.k AND u.i < t.i AND u.i < 80)',
	set => 'enable_hashjoin=off; enable_mergejoin=off; enable_indexscan=off; enable_bitmapscan=off; enable_indexonlyscan=off',
	like => [ qr/Nested Loop.*Join Type=Semi/ ]);
plan_is_exact('nested loop, anti', 'SELECT count(*) FROM u WHERE NOT EXISTS (SELECT FROM few WHERE few.i = u.k)',
	set => 'enable_hashjoin=off; enable_mergejoin=off', like => [ qr/Nested Loop.*Join Type=Anti/ ]);
plan_is_exact('nested loop, left, with filters', 'SELECT count(*) FROM few LEFT JOIN u ON u.k = few.i AND u.i < 100 WHERE u.i IS NULL OR u.i > 20',
	set => 'enable_hashjoin=off; enable_mergejoin=off', like => [ qr/Nested Loop.*Rows Removed by (Join )?Filter=[1-9]/ ]);
plan_is_exact('nested loops in nested loops', 'SELECT count(*) FROM few AS a, LATERAL (SELECT * FROM t JOIN u USING (i) WHERE t.k = a.i LIMIT 5) AS x',
	set => 'enable_hashjoin=off; enable_mergejoin=off', like => [ qr/Limit; Actual Loops=10/ ]);

#
# Sorts, groups, windows
#

plan_is_exact('Incremental Sort', 'SELECT * FROM t ORDER BY k, s', set => 'enable_seqscan=off; enable_bitmapscan=off',
	like => [ qr/^Incremental Sort; .*Full-sort Groups/ ], rows => { 'Incremental Sort' => 10000 });
plan_is_exact('Incremental Sort, bounded', 'SELECT * FROM t ORDER BY k, s LIMIT 130', set => 'enable_seqscan=off; enable_bitmapscan=off',
	like => [ qr/^  Incremental Sort; .*Full-sort Groups/m ], rows => { 'Incremental Sort' => 130 });
plan_is_exact('Incremental Sort in loops', 'SELECT count(*) FROM few, LATERAL (SELECT * FROM t WHERE k < few.i ORDER BY k, s LIMIT 300) AS x',
	set => 'enable_seqscan=off; enable_bitmapscan=off', like => [ qr/^ *Incremental Sort; Actual Loops=10;/m ]);
plan_is_exact('sort, spilling', 'SELECT * FROM t ORDER BY s', set => 'work_mem=64', like => [ qr/^Sort.*Sort Space Type=Disk/ ]);
plan_is_exact('top-N sort', 'SELECT * FROM t WHERE k <> 50 ORDER BY s LIMIT 20', like => [ qr/Sort Method=top-N heapsort/, $removed ]);
plan_is_exact('WITH TIES', 'SELECT * FROM t ORDER BY k FETCH FIRST 120 ROWS WITH TIES', like => [ qr/^Limit.*Actual Rows=200/ ]);
plan_is_exact('HashAggregate, spilling', 'SELECT s, count(*) FROM t GROUP BY s',
	set => 'work_mem=64; hash_mem_multiplier=1; enable_sort=off', like => [ qr/^Aggregate.*HashAgg Batches=[1-9]/ ], rows => { Aggregate => 10000 });
plan_is_exact('grouping sets', 'SELECT k, i % 3, count(*) FROM t GROUP BY GROUPING SETS ((k), (i % 3), (k, i % 3), ()) HAVING count(*) > 33',
	like => [ qr/^Aggregate/, $removed ]);
plan_is_exact('groups, filtered', 'SELECT k, count(*) FROM t GROUP BY k HAVING sum(i) % 2 = 0', set => 'enable_hashagg=off',
	like => [ qr/^Aggregate.*Strategy=Sorted/ ]);
plan_is_exact('distinct', 'SELECT DISTINCT k FROM t', set => 'enable_hashagg=off; enable_indexonlyscan=off', like => [ qr/Unique/ ]);
plan_is_exact('window', 'SELECT * FROM (SELECT i, k, row_number() OVER (PARTITION BY k ORDER BY i) AS r FROM t) AS x WHERE r < 4',
	like => [ qr/WindowAgg/ ], rows => { WindowAgg => 300 });
plan_is_exact('set operations', '(SELECT k FROM t EXCEPT SELECT k FROM u WHERE k < 20) INTERSECT ALL SELECT i FROM t', like => [ qr/SetOp/ ]);

#
# Appends and partitions
#

plan_is_exact('partitionwise join', 'SELECT count(*) FROM p JOIN q USING (i) WHERE p.k < 50',
	set => 'enable_partitionwise_join=on; enable_mergejoin=off; enable_nestloop=off',
	like => [ qr/^  Append/m, qr/(^    Hash Join(.|\n)*){4}/m, $removed ], rows => { 'Hash Join' => '167 166 167 167' });
plan_is_exact('partitionwise aggregate', 'SELECT k, count(*) FROM p WHERE k <> 50 GROUP BY k', set => 'enable_partitionwise_aggregate=on; enable_sort=off',
	like => [ qr/(Aggregate.*Partial Mode=Partial(.|\n)*){4}/, $removed ], rows => { 'Seq Scan' => '990 990 990 990' });
plan_is_exact('pruned as it starts', q{SELECT * FROM p WHERE i < to_char(now(), '1500')::integer AND k < 50},
	like => [ qr/^Append.*Subplans Removed=2/ ], rows => { Append => 750 });
plan_is_exact('all pruned as it starts', q{SELECT * FROM p WHERE i < to_char(now(), '-5')::integer}, like => [ qr/Actual Rows=0.*Subplans Removed=/ ]);
plan_is_exact('pruned while it runs', 'SELECT * FROM p WHERE i < (SELECT max(i) * 100 FROM few) AND k < 90',
	like => [ qr/Seq Scan.*Actual Loops=0/, $removed ], rows => { 'Seq Scan' => '10 900 0 0 0' });
plan_is_exact('pruned by loop', 'SELECT count(*) FROM few JOIN p ON p.i = few.i * 250', set => 'enable_hashjoin=off; enable_mergejoin=off',
	like => [ qr/^ *Append; Actual Loops=10/m, qr/Scan; Actual Loops=3;/ ]);
plan_is_exact('Merge Append', 'SELECT * FROM p WHERE k < 70 ORDER BY i, k', set => 'enable_incremental_sort=off',
	like => [ qr/Append/, $removed ]);
plan_is_exact('Merge Append of two', 'SELECT i FROM t WHERE k <> 70 UNION ALL SELECT i FROM u ORDER BY 1',
	set => 'enable_sort=off; enable_seqscan=off; enable_bitmapscan=off', like => [ qr/Merge Append/, $removed ], rows => { 'Merge Append' => 12900 });

#
# Subqueries
#

plan_is_exact('SubPlan', 'SELECT i, (SELECT max(u.i) FROM u WHERE u.k = few.i AND u.i % 3 = 0) FROM few', like => [ qr/Parent Relationship=SubPlan/, $removed ]);
plan_is_exact('SubPlans of two kinds', 'SELECT count(*) FROM u WHERE k IN (SELECT i FROM few) OR i = ALL (SELECT k FROM few AS f(k) WHERE f.k = u.i)',
	like => [ qr/(Parent Relationship=SubPlan(.|\n)*){2}/ ]);
plan_is_exact('CTE scanned twice', 'WITH c AS MATERIALIZED (SELECT * FROM t WHERE k <> 50) SELECT count(*) FROM c AS a JOIN c AS b ON a.i = b.k',
	like => [ qr/(CTE Scan(.|\n)*){2}/, $removed ]);
plan_is_exact('CTE partly read', 'WITH c AS MATERIALIZED (SELECT * FROM t WHERE k <> 50) (SELECT i FROM c LIMIT 5) UNION ALL (SELECT i FROM c LIMIT 200)',
	like => [ qr/(CTE Scan(.|\n)*){2}/, $removed ]);
plan_is_exact('recursive CTE', 'WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT t.i FROM r JOIN t ON t.i IN (r.i * 3, r.i * 3 + 1)) SELECT count(*) FROM r',
	like => [ qr/Recursive Union/, qr/WorkTable Scan; Actual Loops=([2-9]|\d\d)/ ]);
plan_is_exact('recursive CTE, distinct, ended by LIMIT',
	'WITH RECURSIVE r AS (SELECT 1 AS i UNION SELECT (r.i * 7 + few.i) % 1000 FROM r, few) SELECT * FROM r LIMIT 300',
	like => [ qr/^Limit/, qr/Recursive Union/ ]);

# Cursors, which functions execute

plan_is_exact('cursors in functions', q{SELECT fetches('SELECT i FROM u WHERE i % 3 = 0 ORDER BY i') FROM few WHERE i < 5},
	like => [ $removed ], rows => { 'Seq Scan' => 4 });
plan_is_exact('cursors of sorts', q{SELECT i, fetches('SELECT i FROM u WHERE i % 3 = 0 ORDER BY k DESC, i') FROM few WHERE i < 5 ORDER BY 2, 1},
	like => [ qr/^Sort/ ]);
plan_is_exact('a loop left early', 'SELECT loops_over(i) FROM few', rows => { 'Seq Scan' => 10 });
plan_is_exact('cursors of parallel plans', q{SELECT count(fetches('SELECT i FROM u WHERE i % 3 = 0 ORDER BY i')) FROM t WHERE i % 2500 = 0},
	parallel => 1, like => [ qr/Aggregate/ ], rows => { Aggregate => 1 });

# The session calls clock_explain() while it has an open cursor. The calls must not change the
# cursor's position.
query('BEGIN');
query('DECLARE open_one SCROLL CURSOR FOR SELECT t.i FROM t JOIN u USING (i) WHERE t.k < 50 ORDER BY t.i');
is(query('FETCH 3 FROM open_one'), "1\n2\n3", 'a cursor: its first rows');
for my $how (@methods)
{
	next if $how eq 'option';
	is(query("SELECT max(rows) FROM clock_explain('SELECT * FROM t', '$how')"), '10000', "$how: beside an open cursor");
	is(query('FETCH 1 FROM open_one'), 4, "$how: the cursor goes on");
	is(query('FETCH BACKWARD 2 FROM open_one'), "3\n2", "$how: the cursor moves backward");
	query('MOVE 1 IN open_one');
}
query('COMMIT');
if ($version >= 180000)
{
	my $declared = "DECLARE c SCROLL CURSOR FOR SELECT i FROM t WHERE k < 50 ORDER BY s";
	my ($expected, $got) = map { explained($_, $declared) } 'TIMING OFF', 'CLOCK_SAMPLING';

	is(lines_of($got, {}), lines_of($expected, {}), 'EXPLAIN of DECLARE, option');
	like(lines_of($got, {}), qr/Sort.*Actual Rows=5000/, 'EXPLAIN of DECLARE, option: rows');
}

#
# Writing
#

plan_is_exact('INSERT', 'INSERT INTO w SELECT i, k FROM t WHERE i > 9900 AND k < 90', like => [ qr/^ModifyTable.*Operation=Insert/, $removed ]);
plan_is_exact('INSERT RETURNING', 'INSERT INTO w SELECT i, k FROM t WHERE i > 9900 RETURNING *', like => [ qr/^ModifyTable.*Actual Rows=100/ ]);
plan_is_exact('ON CONFLICT DO NOTHING', 'INSERT INTO w SELECT i, k FROM t WHERE i BETWEEN 451 AND 600 ON CONFLICT DO NOTHING',
	like => [ qr/^ModifyTable.*Conflicting Tuples=50;.*Tuples Inserted=100/ ]);
plan_is_exact('ON CONFLICT DO UPDATE',
	'INSERT INTO w SELECT i, k FROM t WHERE i BETWEEN 451 AND 600 ON CONFLICT (i) DO UPDATE SET k = excluded.k WHERE w.i % 2 = 0 RETURNING i',
	like => [ qr/^ModifyTable.*Actual Rows=125;.*Conflicting Tuples=50;.*Rows Removed by Conflict Filter=25;.*Tuples Inserted=100/ ]);
plan_is_exact('UPDATE FROM', 'UPDATE w SET k = u.k FROM u WHERE u.i = w.i AND u.k > 10', set => 'enable_hashjoin=off', like => [ qr/^ModifyTable.*Operation=Update/ ]);
plan_is_exact('UPDATE that moves rows', 'UPDATE moved SET k = 1 - k WHERE i % 5 > 0 RETURNING i', like => [ qr/^ModifyTable.*Actual Rows=80/, $removed ]);
plan_is_exact('DELETE USING', 'DELETE FROM w USING few WHERE w.i = few.i * 3 RETURNING *', like => [ qr/^ModifyTable.*Actual Rows=10/ ]);
plan_is_exact('MERGE', 'MERGE INTO w USING (SELECT i, k FROM t WHERE i BETWEEN 401 AND 600) AS s ON s.i = w.i'
	  . ' WHEN MATCHED AND s.k < 20 THEN DELETE WHEN MATCHED AND s.k < 60 THEN UPDATE SET k = s.k WHEN MATCHED THEN DO NOTHING'
	  . ' WHEN NOT MATCHED AND s.k < 50 THEN INSERT VALUES (s.i, s.k)',
	like => [ qr/^ModifyTable.*Operation=Merge;.*Tuples Deleted=20;.*Tuples Inserted=50;.*Tuples Skipped=90;.*Tuples Updated=40/ ]);
plan_is_exact('MERGE RETURNING', 'MERGE INTO w USING few ON few.i = w.i WHEN MATCHED THEN UPDATE SET k = few.i'
	  . ' WHEN NOT MATCHED BY SOURCE AND w.i > 490 THEN DELETE RETURNING merge_action(), w.i',
	like => [ qr/^ModifyTable.*Actual Rows=20;.*Operation=Merge/ ]) if $version >= 170000;
plan_is_exact('trigger of a statement', 'INSERT INTO fired SELECT i FROM u WHERE k < 10', like => [ qr/^Trigger fire: 1$/m, $removed ]);
plan_is_exact('CTEs that write', 'WITH d AS (DELETE FROM w WHERE i < 50 RETURNING i), n AS (INSERT INTO fired SELECT i FROM d WHERE i % 2 = 0 RETURNING i),'
	  . ' x AS (UPDATE locked SET k = 1 WHERE i IN (SELECT i FROM few)) SELECT count(*) FROM d, few',
	like => [ qr/Operation=Delete/, qr/Operation=Insert/, qr/Operation=Update/ ]);
plan_is_exact('CTE that writes, partly read', 'WITH d AS (DELETE FROM w WHERE i < 50 RETURNING i) SELECT * FROM d LIMIT 3',
	like => [ qr/^Limit/, qr/ModifyTable.*Actual Rows=49;.*Operation=Delete/ ]);
plan_is_exact('FOR UPDATE', 'SELECT * FROM locked WHERE i % 2 = 0 FOR UPDATE', like => [ qr/^LockRows/, $removed ], rows => { LockRows => 25 });
plan_is_exact('FOR SHARE below LIMIT', 'SELECT * FROM locked JOIN few USING (i) ORDER BY i LIMIT 4 FOR SHARE OF locked SKIP LOCKED', like => [ qr/LockRows/ ]);

# Rows that another session changes or locks during the execution

my $other = ClockSession->new($node);
my $observer = ClockSession->new($node);

# Changes rows in another session, sends a statement that must wait for these rows, and commits the
# changes when the statement waits.
sub with_update
{
	my ($statement) = @_;

	$other->query('UPDATE locked SET k = 0');
	$other->query('BEGIN; UPDATE locked SET k = i WHERE i IN (3, 30); DELETE FROM locked WHERE i = 50');
	$session->send($statement);
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " . $session->pid)
	  or die 'does not wait';
	$other->query('COMMIT');
	my $result = $session->result;
	diag "$statement\n$result->{err}" if $result->{state} ne '00000';
	$session->query('ROLLBACK') if $statement =~ /^BEGIN/;
	$other->query('INSERT INTO locked VALUES (50, 0)');
	return $result->{out};
}

for my $case (
	[ 'FOR UPDATE', 'SELECT * FROM locked WHERE k < 10 FOR UPDATE', qr/^LockRows; .*Actual Rows=48/ ],
	[ 'FOR UPDATE of a join', 'SELECT * FROM locked JOIN few ON few.i = locked.i WHERE locked.k < 3 FOR UPDATE OF locked', qr/^LockRows; .*Actual Rows=9/ ],
	[ 'UPDATE', 'UPDATE locked SET k = k + 1 WHERE k < 10 RETURNING i', qr/^ModifyTable; .*Actual Rows=48/ ],
	[ 'DELETE', 'DELETE FROM locked USING few WHERE few.i = locked.i AND locked.k < 3 RETURNING locked.i', qr/^ModifyTable; .*Actual Rows=9/ ],
	[ 'MERGE', 'MERGE INTO locked USING few ON few.i = locked.i WHEN MATCHED AND k < 3 THEN UPDATE SET k = -1 WHEN MATCHED THEN DELETE',
		qr/^ModifyTable; .*Tuples Deleted=1; .*Tuples Updated=9/ ])
{
	my ($what, $sql, $pattern) = @$case;
	my $options = $version >= 180000 ? ', BUFFERS OFF' : '';
	my $expected = with_update("BEGIN; EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON$options) $sql");

	$expected = defined $expected ? decode_json($expected)->[0] : next;
	like(lines_of($expected, {}), $pattern, "$what with a concurrent update: the plan has the expected rows");
	for my $how (@methods)
	{
		my $got =
		  $how eq 'option'
		  ? with_update("BEGIN; EXPLAIN (ANALYZE, CLOCK_SAMPLING, FORMAT JSON$options) $sql")
		  : with_update("SELECT clock_explain_json('$sql', '$how', allow_writes => true)");

		$got = eval { decode_json($got)->[0] };
		is($got ? lines_of($got, {}) : 'no plan', lines_of($expected, {}), "$what with a concurrent update, $how");
	}
}
$other->query('BEGIN; SELECT * FROM locked WHERE i < 11 FOR UPDATE');
plan_is_exact('SKIP LOCKED', 'SELECT * FROM locked FOR UPDATE SKIP LOCKED', like => [ qr/^LockRows; .*Actual Rows=40/ ]);
$other->query('ROLLBACK');

# Custom scans of test/module/custom_scan.c. custom_N returns one row in N, or none if N is 0, and
# counts the rows that it removes.

my $custom = qr/^ *Custom Scan; /m;
my $inner = 'enable_hashjoin=off; enable_mergejoin=off; enable_material=off; enable_memoize=off';

query("LOAD '$module'");
for my $n (1, 10, 0)
{
	my $returned = $n ? 3000 / $n : 0;

	plan_is_exact("custom_$n", "SELECT * FROM custom_$n", like => [ qr/^Custom Scan; .*Actual Rows=3000;.*\n +Seq Scan/ ],
		rows => { 'Custom Scan' => 3000 });
	plan_is_exact("custom_$n, filter", "SELECT i FROM custom_$n WHERE k < 20", like => [ $custom, $removed ], rows => { 'Custom Scan' => 1200 });
	plan_is_exact("custom_$n below a Sort", "SELECT count(*), k FROM custom_$n GROUP BY k ORDER BY k", set => 'enable_hashagg=off',
		like => [ qr/^ *Sort;.*\n *Custom Scan/m ], rows => { Sort => $returned, 'Custom Scan' => 3000 });
	plan_is_exact("custom_$n, inner side of a nested loop", "SELECT count(*) FROM few JOIN custom_$n AS c ON c.k <> few.i", set => $inner,
		like => [ qr/^ *Nested Loop/m, qr/^ *Custom Scan; Actual Loops=10; Actual Rows=3000;/m ], rows => { 'Custom Scan' => 30000 });
	plan_is_exact("custom_$n, searched for what is not there", "SELECT i FROM few WHERE NOT EXISTS (SELECT FROM custom_$n AS c WHERE c.i % 500 = few.i * 20)",
		set => $inner, like => [ qr/Nested Loop.*Join Type=Anti/, qr/^ *Custom Scan; Actual Loops=10;/m ]);
	plan_is_exact("custom_$n in loops, ended by LIMIT", "SELECT count(*) FROM few, LATERAL (SELECT i FROM custom_$n AS c WHERE c.k <> few.i LIMIT 7) AS x",
		like => [ qr/^ *Limit; .*\n *Custom Scan; Actual Loops=10;/m, $removed ]);
}
plan_is_exact('two nodes with one plan_node_id', 'SELECT count(*) FROM custom_10_twin', like => [ qr/Custom Scan; .*Actual Rows=3000;.*\n +Seq Scan.*Actual Rows=3000/ ],
	rows => { Aggregate => 1, 'Custom Scan' => 3000, 'Seq Scan' => 3000 });
is(query(q{SELECT count(DISTINCT node), bool_and(self_ms >= 0) FROM clock_explain('SELECT count(*) FROM custom_10_twin') WHERE node > 0}), '3|t', 'each has a row and a time');
# The upper custom node executes the scan below the lower one, which is never called. All that follows
# a call of the scan is time of the upper node.
plan_is_exact('a custom node executes the input of the node below', 'SELECT i FROM custom_10_batch', like => [ qr/^Custom Scan;.*\n +Custom Scan; .*\n +Seq Scan/ ],
	rows => { 'Custom Scan' => '3000 30000000', 'Seq Scan' => 3000 });
plan_is_exact('the same in loops', 'SELECT count(*) FROM few JOIN custom_10_batch AS c ON c.k <> few.i', set => $inner,
	like => [ qr/^ *Nested Loop/m, qr/^ *Custom Scan; Actual Loops=10; Actual Rows=3000;/m ], rows => { 'Custom Scan' => '30000 300000000' });
is(query(q{SELECT string_agg((self_ms > 0)::text, ' ' ORDER BY node) FROM clock_explain('SELECT pg_sleep(0.001) FROM custom_10_batch WHERE i <= 300') WHERE node IN (1, 2)}),
	'true false', 'the node that is never called has no time');
plan_is_exact('custom scans in an Append', 'SELECT i FROM custom_1 UNION ALL SELECT i FROM custom_10 UNION ALL SELECT i FROM custom_0',
	like => [ qr/^Append; .*Actual Rows=3300;/, qr/($custom(.|\n)*){3}/ ], rows => { Append => 3300, 'Custom Scan' => '3000 3000 3000' });
for my $n (1, 10, 0)
{
	my $returned = $n ? 2940 / $n : 0;

	plan_is_exact("parallel custom_$n", "SELECT * FROM custom_$n WHERE k > 0", parallel => 1,
		like => [ $launched, qr/^  Custom Scan; Actual Loops=3;.*Parallel Aware=true/m, $removed ],
		rows => { Gather => 3 * $returned, 'Custom Scan' => 8820, 'Seq Scan' => 8820 });
	plan_is_exact("parallel custom_$n, no leader", "SELECT * FROM custom_$n WHERE k > 0", parallel => 1, set => 'parallel_leader_participation=off',
		like => [ $launched, qr/^  Custom Scan; Actual Loops=2;/m ], rows => { Gather => 2 * $returned, 'Custom Scan' => 5880 });
	plan_is_exact("parallel custom_$n, workers that do not start", "SELECT * FROM custom_$n WHERE k > 0", parallel => 1, set => 'max_parallel_workers=0',
		like => [ qr/^Gather; .*Workers Launched=0/, $custom ], rows => { Gather => $returned, 'Custom Scan' => 2940 });
	plan_is_exact("parallel custom_$n, rescanned", "SELECT count(*) FROM generate_series(1, 10), LATERAL (SELECT i FROM custom_$n WHERE k > 0 OFFSET 0) AS x", parallel => 1,
		set => $inner, like => [ $launched, qr/^ *Custom Scan; Actual Loops=30;/m ], rows => { Gather => 30 * $returned, 'Custom Scan' => 88200 });
}
for my $n (10, 0)
{
	plan_is_exact("custom_$n in workers, searched for what is not there", "SELECT i FROM t WHERE i % 1000 = 0 AND NOT EXISTS (SELECT FROM custom_$n AS c WHERE c.i % 500 = t.i / 50)",
		parallel => 1, set => "$inner; min_parallel_table_scan_size='150kB'", like => [ $launched, qr/Nested Loop; Actual Loops=3; .*Join Type=Anti/, qr/^ *Custom Scan; Actual Loops=10; .*Parallel Aware=false/m ]);
}

#
# Foreign tables
#

SKIP:
{
	skip 'this PostgreSQL has no extension postgres_fdw' if !$has_fdw;

	plan_is_exact('foreign scan', 'SELECT * FROM f WHERE length(i::text || random()::text) > 3 AND k < 5 OFFSET 0', like => [ qr/^Foreign Scan.*Actual Rows=500/ ]);
	plan_is_exact('foreign scan, filter', 'SELECT i FROM f WHERE (i + random() * 0)::integer % 4 = 0', like => [ qr/^Foreign Scan.*$removed/ ]);
	plan_is_exact('foreign join', 'SELECT * FROM f JOIN g USING (i) WHERE f.k < 5', set => 'enable_hashjoin=off; enable_mergejoin=off; enable_nestloop=off',
		like => [ qr/^Foreign Scan.*Actual Rows=500/ ]);
	plan_is_exact('foreign scans in loops', 'SELECT count(*) FROM few, LATERAL (SELECT f.i FROM f WHERE f.k = few.i LIMIT 7) AS x',
		like => [ qr/Foreign Scan; Actual Loops=10;/ ]);
	plan_is_exact('UPDATE there', 'UPDATE f SET k = k + 1', like => [ qr/^  Foreign Scan; .*Actual Rows=1000;.*Operation=Update/m ],
		rows => { 'Foreign Scan' => 1000 });
	plan_is_exact('UPDATE there, RETURNING', 'UPDATE f SET k = k + 1 WHERE i < 301 RETURNING i, k',
		like => [ qr/^ModifyTable.*Actual Rows=300/, qr/^  Foreign Scan; .*Actual Rows=300;.*Operation=Update/m ]);
	plan_is_exact('DELETE there', 'DELETE FROM f WHERE i % 2 = 0', like => [ qr/^  Foreign Scan; .*Actual Rows=500;.*Operation=Delete/m ],
		rows => { 'Foreign Scan' => 500 });
	plan_is_exact('UPDATE there, of a join', 'UPDATE f SET k = g.k FROM g WHERE f.i = g.i AND g.k < 10', set => 'enable_hashjoin=off; enable_mergejoin=off; enable_nestloop=off',
		like => [ qr/^  Foreign Scan; .*Operation=Update/m ], rows => { 'Foreign Scan' => 200 });
	plan_is_exact('UPDATE by rows', 'UPDATE f SET k = k + few.i FROM few WHERE f.i = few.i', like => [ qr/^ModifyTable/ ]);
	plan_is_exact('INSERT by rows', 'INSERT INTO f SELECT i, k FROM u WHERE k < 10', like => [ qr/^ModifyTable/ ]);
	plan_is_exact('INSERT by batches', 'INSERT INTO f_batch SELECT i, k FROM u WHERE k < 10', like => [ qr/^ModifyTable/ ]);
	plan_is_exact('asynchronous scans', 'SELECT * FROM a2 WHERE k < 5 UNION ALL SELECT * FROM a3 WHERE k < 10',
		like => [ qr/(Foreign Scan; .*Async Capable=true(.|\n)*){2}/ ], rows => { Append => 1100, 'Foreign Scan' => '500 600' });
	plan_is_exact('asynchronous scans beside others',
		'SELECT count(*) FROM (SELECT i FROM a2 UNION ALL SELECT i FROM few UNION ALL SELECT i FROM a3) AS x',
		like => [ qr/(Foreign Scan; .*Async Capable=true(.|\n)*){2}/ ], rows => { Append => 4010, 'Foreign Scan' => '1000 3000' });
	plan_is_exact('asynchronous scans, ended by LIMIT', 'SELECT i FROM a2 UNION ALL SELECT i FROM a3 LIMIT 3900',
		like => [ qr/^Limit/, qr/(Foreign Scan; .*Async Capable=true(.|\n)*){2}/ ], parallel => 1, loops_vary => 1, rows => { Append => 3900 });

	# An Append of asynchronous scans waits for them, and has their time.
	my $many = join ' UNION ALL ', map { "SELECT i FROM a$_" } (2, 3) x 10;
	is(query("SELECT waits ~ 'AppendReady' FROM clock_explain('SELECT count(*) FROM ($many) AS x') WHERE node_type = 'Append'"),
		't', 'an Append above asynchronous scans waits');
}

$_->quit for $session, $other, $observer;
$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|terminated by signal|TRAP/, 'nothing has crashed');
unlike($log, qr/WARNING/, 'no warnings in the log');

done_testing();
