# Plans whose nodes call functions of test/module/known_work.c. These functions work for a requested
# time and record the time that they have worked. The true times of the nodes are therefore known,
# and clock_explain's errors can be computed.

package KnownWork;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(known_kinds known_places known_schema known_script known_runs known_nodes name_of);

sub known_kinds { return qw(constant exponential lognormal rare beginning end bimodal); }

my $parallel = 'max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0';
my $join = 'FROM known_a AS a JOIN known_a AS b ON a.i = b.i AND known_work(0, a.p + b.z) >= 0 WHERE known_work(1, a.p) >= 0 AND known_work(2, b.p) >= 0';

# Places in a plan where functions do known work. The first argument of known_work() is a slot; the
# work of all calls with this slot is added up.
#   query, set  query, and the settings that the query needs
#   nodes       for each node, named by type and alias, the slots of its work
#   root        slots whose work is part of the root's total time; by default all; [] if workers do
#               the work, because the root's total time is then less than the sum of their work
#   gather      1 if workers do the work
my @places = (
	{ name => 'filter', query => 'SELECT i FROM known_a AS a WHERE known_work(0, p) >= 0', nodes => { 'Seq Scan a' => [0] } },
	{ name => 'target list', query => 'SELECT known_work(0, p) FROM known_a AS a', nodes => { 'Seq Scan a' => [0] } },
	{ name => 'index scan, loops', set => 'enable_seqscan = off; SET enable_bitmapscan = off; SET enable_material = off',
		query => 'SELECT 1 FROM known_s AS s JOIN known_a AS a ON a.i > s.i * 100 - 100 AND a.i <= s.i * 100 AND known_work(0, a.p) >= 0',
		nodes => { 'Index Scan a' => [0] } },
	{ name => 'nested loop', query => 'SELECT 1 FROM known_s AS s JOIN known_t AS t ON known_work(0, s.p + t.z) >= 0', nodes => { 'Nested Loop' => [0] } },
	{ name => 'hash join', query => "SELECT 1 $join", set => 'enable_mergejoin = off; SET enable_nestloop = off',
		nodes => { 'Hash Join' => [0], 'Seq Scan a' => [1], 'Seq Scan b' => [2] } },
	{ name => 'merge join', query => "SELECT 1 $join", set => 'enable_hashjoin = off; SET enable_nestloop = off; SET enable_indexscan = off; SET enable_bitmapscan = off',
		nodes => { 'Merge Join' => [0], 'Seq Scan a' => [1], 'Seq Scan b' => [2] } },
	{ name => 'aggregate', query => 'SELECT sum(known_work(0, p)) FROM known_a AS a WHERE known_work(1, p) >= 0',
		nodes => { 'Aggregate' => [0], 'Seq Scan a' => [1] } },
	{ name => 'groups', query => 'SELECT p, sum(known_work(0, p)) FROM known_a AS a GROUP BY p', nodes => { 'Aggregate' => [0] } },
	{ name => 'window', query => 'SELECT sum(known_work(0, p)) OVER (ORDER BY p) FROM known_a AS a', nodes => { 'WindowAgg' => [0] } },
	{ name => 'sort, comparisons', query => 'SELECT i FROM known_m AS m WHERE known_work(1, p) >= 0 ORDER BY i * 7919 % 2003 USING <#',
		nodes => { 'Sort' => [0], 'Seq Scan m' => [1] } },
	{ name => 'sort key', query => 'SELECT i FROM known_a AS a ORDER BY known_work(0, p)', nodes => { 'Seq Scan a' => [0] } },
	{ name => 'subplan', query => 'SELECT (SELECT sum(known_work(0, s.p + t.z)) FROM known_t AS t WHERE known_work(1, s.p + t.z) >= 0) FROM known_s AS s',
		nodes => { 'Aggregate' => [0], 'Seq Scan t' => [1] } },
	{ name => 'CTE', query => 'WITH c AS MATERIALIZED (SELECT p, known_work(0, p) FROM known_a AS a) SELECT p FROM c WHERE known_work(1, p) >= 0',
		nodes => { 'Seq Scan a' => [0], 'CTE Scan c' => [1] } },
	{ name => 'function scan', query => 'SELECT i FROM known_rows(0, :calls) AS f (i) WHERE known_work(1, (i - 1) * 1000 / :calls) >= 0',
		nodes => { 'Function Scan f' => [ 0, 1 ] } },
	{ name => 'ProjectSet', query => 'SELECT known_rows(0, 100) FROM known_s AS s', nodes => { 'ProjectSet' => [0] } },
	{ name => 'foreign scan', query => 'SELECT i FROM known_f AS f WHERE known_work(0, p) >= 0', nodes => { 'Foreign Scan f' => [0] } },
	{ name => 'triggers', query => 'INSERT INTO known_u SELECT i, p, z FROM known_a AS a WHERE known_work(2, p) >= 0', root => [ 0, 2 ],
		nodes => { 'ModifyTable known_u' => [0], 'Trigger known_after' => [1], 'Seq Scan a' => [2] } },
	{ name => 'workers', query => 'SELECT sum(known_work(0, p)) FROM known_a AS a WHERE known_work(1, p) >= 0', set => $parallel, root => [], gather => 1,
		nodes => { 'Partial Aggregate' => [0], 'Seq Scan a' => [1] } },
	{ name => 'workers, hash join', query => "SELECT 1 $join", set => "$parallel; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_parallel_hash = off",
		root => [], gather => 1, nodes => { 'Hash Join' => [0], 'Seq Scan a' => [1], 'Seq Scan b' => [2] } });

# Returns the places. A scale of 2 doubles the number of calls that each query makes.
sub known_places
{
	my $calls = 20000 * (shift // 1);

	return map { { %$_, query => $_->{query} =~ s/:calls/$calls/gr } } @places;
}

# Returns a script of SQL that creates the functions of the library and the tables of the queries.
# The server writes the data of the foreign table to $file. If $file is not given, the script
# creates no foreign table.
sub known_schema
{
	my ($library, $file, $scale) = @_;
	$scale //= 1;
	my $table = 'SELECT i, (i - 1) * 1000 / n AS p, 0 AS z FROM generate_series(1, n) AS i';

	return join "\n", "LOAD '$library';",
	  (map { "CREATE FUNCTION $_ LANGUAGE c VOLATILE PARALLEL SAFE AS '$library';" }
		  'known_work(integer, integer) RETURNS integer', 'known_work_reset() RETURNS void',
		'known_work_sums(OUT slot integer, OUT calls bigint, OUT ms double precision, OUT preempted_ms double precision) RETURNS SETOF record',
		'known_trigger() RETURNS trigger', 'known_rows(integer, integer) RETURNS SETOF integer'),
	  "CREATE FUNCTION known_compare(integer, integer) RETURNS integer LANGUAGE c IMMUTABLE AS '$library';",
	  (map { "CREATE OPERATOR $_->[0] (FUNCTION = $_->[1], LEFTARG = integer, RIGHTARG = integer);" }
		  [ '<#', 'int4lt' ], [ '<=#', 'int4le' ], [ '=#', 'int4eq' ], [ '>=#', 'int4ge' ], [ '>#', 'int4gt' ]),
	  'CREATE OPERATOR CLASS known_ops FOR TYPE integer USING btree AS OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#,'
	  . ' OPERATOR 5 >#, FUNCTION 1 known_compare(integer, integer);',
	  (map { my ($name, $n) = @$_; "CREATE TABLE $name AS " . $table =~ s/\bn\b/$n/gr . ';' }
		  [ known_a => 20000 * $scale ], [ known_m => 2000 * $scale ], [ known_s => 200 * $scale ], [ known_t => 100 ]),
	  'CREATE INDEX ON known_a (i);',
	  'CREATE UNLOGGED TABLE known_u (i integer, p integer, z integer);',
	  'CREATE TRIGGER known_before BEFORE INSERT ON known_u FOR EACH ROW EXECUTE FUNCTION known_trigger(0);',
	  'CREATE TRIGGER known_after AFTER INSERT ON known_u FOR EACH ROW EXECUTE FUNCTION known_trigger(1);',
	  $file ? ("COPY known_a TO '$file' (FORMAT csv);",
		'CREATE EXTENSION IF NOT EXISTS file_fdw; CREATE SERVER known_files FOREIGN DATA WRAPPER file_fdw;',
		"CREATE FOREIGN TABLE known_f (i integer, p integer, z integer) SERVER known_files OPTIONS (filename '$file', format 'csv');") : (),
	  "VACUUM ANALYZE known_a, known_m, known_s, known_t;\n";
}

# Returns a script of psql that executes a place's query once for each run. A run is a list: kind of
# distribution of the calls' times, mean time of a call in ns, and method of clock_explain.
sub known_script
{
	my ($library, $place, @runs) = @_;
	my $script = "LOAD '$library';\nSET jit = off;\nSET work_mem = '64MB';\nSET max_parallel_workers_per_gather = 0;\n";

	$script .= "SET $place->{set};\n" if $place->{set};
	foreach (@runs)
	{
		my ($kind, $ns, $method) = @$_;

		$script .= "SET known_work.kind = '$kind';\nSET known_work.ns = $ns;\nSELECT known_work_reset() \\g /dev/null\n"
		  . "SELECT clock_explain_json(\$query\$$place->{query}\$query\$, method => '$method', allow_writes => true)::jsonb;\n"
		  . "SELECT jsonb_object_agg(slot, to_jsonb(s)) FROM known_work_sums() AS s;\n";
	}
	return $script;
}

# Parses the output of the script. Returns a hash for each run: explain (plan) and sums (work by
# slot).
sub known_runs
{
	my @lines = grep { /^[\[{]/ } @_;
	my @runs;

	push @runs, { explain => decode_json(shift @lines)->[0], sums => decode_json(shift @lines) } while @lines > 1;
	return @runs;
}

sub name_of
{
	my ($node) = @_;
	my $partial = ($node->{'Partial Mode'} // '') eq 'Partial' ? 'Partial ' : '';

	return join ' ', grep { defined } $partial . $node->{'Node Type'}, $node->{Alias};
}

sub walk
{
	my ($node, $found) = @_;

	$found->{ name_of($node) } //= $node;
	walk($_, $found) foreach @{ $node->{Plans} || [] };
	return;
}

sub add_sums
{
	my ($known, @sums) = @_;

	foreach my $sum (@sums)
	{
		$known->{calls} += $sum->{calls};
		$known->{work} += $sum->{ms} - $sum->{preempted_ms};
		$known->{preempted} += $sum->{preempted_ms};
	}
	return $known;
}

# Returns a hash for each node with known work, and one for the root's total. Times are in ms and
# are sums over all processes.
#   self, margin  estimated self time (of the root: total time), and its margin
#   work          known time on the CPU in the functions
#   preempted     time off the CPU in the functions
#   calls         number of calls of the functions
sub known_nodes
{
	my ($place, $run) = @_;
	my $plan = $run->{explain}{Plan};
	my (%found, @nodes);

	walk($plan, \%found);
	# The server times triggers, with the time waiting for a CPU.
	$found{"Trigger $_->{'Trigger Name'}"} = { 'Clock Self Time' => $_->{Time}, waits => $run->{explain}{Clock}{'CPU Wait Time'} }
	  foreach @{ $run->{explain}{Triggers} || [] };
	foreach my $name (sort keys %{ $place->{nodes} })
	{
		my $node = $found{$name} or die "$place->{name}: the plan has no $name, but " . join(', ', sort keys %found) . "\n";
		my %known = (name => "$place->{name}: $name", self => $node->{'Clock Self Time'}, waits => $node->{waits} // 0);

		$known{margin} = $node->{'Clock Self Margin'} if defined $node->{'Clock Self Margin'};
		push @nodes, add_sums(\%known, map { $run->{sums}{$_} // die "$place->{name}: nothing in slot $_\n" } @{ $place->{nodes}{$name} });
	}
	my @slots = $place->{root} ? @{ $place->{root} } : keys %{ $run->{sums} };
	if (@slots)
	{
		my %root = (name => "$place->{name}: total", root => 1, self => $plan->{'Clock Total Time'}, margin => $plan->{'Clock Total Margin'});

		push @nodes, add_sums(\%root, @{ $run->{sums} }{@slots});
	}
	return @nodes;
}

1;
