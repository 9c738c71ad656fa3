
# Functions that several benchmarks use.  They start a server, run psql, compute statistics, read
# the queries of bench/explain.sql, and build bench/execute.c, which executes these queries.

package Bench;

use strict;
use warnings;

use Exporter 'import';
use File::Temp;
use List::Util qw(sum0);
use POSIX qw(ceil);

our @EXPORT = qw(psql run make_server start_server stop_server median low_mean ninth_decile median_interval above floor_of defined_only number show read_queries settings_of make_schema drop_schema make_tpc);

our $schema = 'clocktiming_bench';
our $directory = $ENV{TMPDIR} // '/tmp';
my $library = "$directory/clocktiming-execute-$$.so";
my $owner = $$;

# Directory of the server that make_server() creates, and whether this server is running.
our $server;
my $running = 0;

END
{
	local $?;
	stop_server('immediate') if $running && $$ == $owner;
}
END { unlink $library, "$directory/clocktiming-foreign.csv" if $$ == $owner }

# Executes a shell command and returns its output.  Dies if the command fails.
sub run
{
	my $output = qx{@_ 2>&1 </dev/null};
	die "failed: @_\n$output" if $? != 0;
	return $output;
}

# Creates a server without starting it, and sets the environment so that psql connects to it.
sub make_server
{
	die "PostgreSQL does not run as root: use tools/with-server\n" if $> == 0;
	$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);
	$server = File::Temp->newdir('bench.XXXXXX', DIR => $directory);
	run("initdb -D $server/data -A trust -U postgres --no-sync --locale=C --encoding=UTF8");
	open(my $conf, '>>', "$server/data/postgresql.conf") or die "postgresql.conf: $!\n";
	print $conf "listen_addresses = ''\nunix_socket_directories = '$server'\nfsync = off\nfull_page_writes = off\nautovacuum = off\n"
	  . "checkpoint_timeout = 1h\nmax_wal_size = 16GB\nlog_checkpoints = off\n";
	close $conf;
	delete @ENV{ grep { /^PG[A-Z]/ } keys %ENV };
	@ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($server, 5432, 'postgres', 'postgres');
}

# Starts the server with shared_preload_libraries and settings ('name=value').
sub start_server
{
	my ($libraries, @settings) = @_;
	my $options = join ' ', map { "-c $_" } "shared_preload_libraries=$libraries", @settings;

	qx{pg_ctl start -s -w -D $server/data -l $server/server.log -o '$options' </dev/null >/dev/null 2>&1};
	die "the server does not start ($options):\n", qx{tail -n 20 $server/server.log} if $? != 0;
	$running = 1;
}

sub stop_server
{
	my ($mode) = @_;

	$running = 0;
	run("pg_ctl stop -s -w -m $mode -D $server/data");
}

# Executes a script with psql, on the server that the environment variables name, and returns the
# lines of the output, including error messages.  Dies if a statement fails, unless $may_fail.
sub psql
{
	my ($script, $may_fail) = @_;
	my $file = File::Temp->new(SUFFIX => '.sql');
	my $stop = $may_fail ? 0 : 1;

	print $file $script;
	close $file;
	my @lines = qx{psql -X -q -A -t -v ON_ERROR_STOP=$stop -f $file 2>&1};
	die "psql failed:\n@lines" if $? != 0 && !$may_fail;
	chomp @lines;
	return @lines;
}

#
# Statistics
#

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return @sorted ? ($sorted[ $#sorted / 2 ] + $sorted[ @sorted / 2 ]) / 2 : undef;
}

# Returns the mean of the lowest third of the values.
sub low_mean
{
	my @sorted = sort { $a <=> $b } @_;
	my $n = ceil(@sorted / 3);
	return $n ? sum0(@sorted[ 0 .. $n - 1 ]) / $n : undef;
}

# Returns the ninth decile.
sub ninth_decile
{
	my @sorted = sort { $a <=> $b } @_;
	return @sorted ? $sorted[ ceil(0.9 * @sorted) - 1 ] : undef;
}

# Returns the ends of a confidence interval of at least 95 % for the median.  Both ends are elements
# of the list.  Their ranks follow from the binomial distribution of the number of values below the
# median.  Returns undef for both if the list has fewer than 6 values.
sub median_interval
{
	my @sorted = sort { $a <=> $b } @_;
	my $below = 0;
	die "median_interval: more than 1000 values\n" if @sorted > 1000;    # 0.5**1075 is 0, and the loop would not end
	my $term = 0.5**@sorted;    # probability that exactly $rank values are below the median
	my $rank = 0;

	for (; $below + $term <= 0.025; $rank++)
	{
		$below += $term;
		$term *= (@sorted - $rank) / ($rank + 1);
	}
	return $rank > 0 ? @sorted[ $rank - 1, @sorted - $rank ] : (undef, undef);
}

# Returns the difference between a statistic of the values and the same statistic of the base, in
# percent of the latter.  If $statistic is undef, both lists have one value per round, and the result
# is the median of the rounds' ratios of value to base, minus 1, in percent.
sub above
{
	my ($statistic, $values, $base) = @_;

	if (!$statistic)
	{
		my $last = $#{ $values // [] };

		return $last >= 0 && $last == $#{ $base // [] } ? (median(map { $values->[$_] / $base->[$_] } 0 .. $last) - 1) * 100 : undef;
	}

	my $reference = $base && @$base ? $statistic->(@$base) : 0;

	return $values && @$values && $reference > 0 ? ($statistic->(@$values) / $reference - 1) * 100 : undef;
}

# Returns the noise of above(), in percent: the result of above() if the values of even rounds are
# compared with the values of odd rounds of the same list.  Without noise, the result would be 0.
sub floor_of
{
	my ($statistic, $values) = @_;
	return undef if !$values || @$values < 2;
	my @pairs = 0 .. int(@$values / 2) - 1;
	return above($statistic, map { my $odd = $_; [ map { $values->[ 2 * $_ + $odd ] } @pairs ] } 0, 1);
}

sub defined_only { return grep { defined } @_; }

# Returns a value as a number, or undef if it is not a finite number.
sub number
{
	my ($value) = @_;
	return defined $value && $value =~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/i ? $value + 0 : undef;
}

# Formats a number.  Returns a dash of the same width if the number is undefined.
sub show
{
	my ($format, $value) = @_;
	my ($width) = $format =~ /([0-9]+)/;
	return defined $value ? sprintf($format, $value) : sprintf("%${width}s", '-');
}

#
# The queries
#

# Reads bench/explain.sql.  Returns the statements that create the tables, and a hash for each query:
#   name, group, text
#   set        settings for the query's session
#   shape      nodes that its plan must have
#   writes     true if it modifies tables
#   parallel   true if it is executed by parallel workers
#   outside    true if some of its time is not spent in a plan node
sub read_queries
{
	my ($tables, $group, @queries) = ('', '');

	open(my $in, '<', 'bench/explain.sql') or die "bench/explain.sql: $!\n";
	while (my $line = <$in>)
	{
		if ($line =~ /^-- query: (.*)/)
		{
			push @queries, { name => $1, group => $group, shape => '', set => '', text => '' };
		}
		elsif ($line =~ /^-- group: (.*)/) { $group = $1; }
		elsif (!@queries) { $tables .= $line; }
		elsif ($line =~ /^-- (shape|set): (.*)/) { $queries[-1]{$1} .= ($queries[-1]{$1} ne '' ? ', ' : '') . $2; }
		elsif ($line =~ /^-- (writes|parallel|outside)$/) { $queries[-1]{$1} = 1; }
		elsif ($line !~ /^--/) { $queries[-1]{text} .= $line; }
	}
	s/\s+\z// for map { $_->{text} } @queries;
	return ($tables, @queries);
}

# Returns the statements that set a query's settings in a session.
sub settings_of
{
	my ($query) = @_;
	my @settings = ("search_path = $schema, public", "work_mem = '64MB'",
		$query->{parallel}
		? ('max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0')
		: 'max_parallel_workers_per_gather = 0');

	return join '', map { "SET $_;\n" } @settings, split /, (?=\w+ = )/, $query->{set};
}

# Builds the library of bench/execute.c, which executes plans by code of the extension.  Creates the
# library's SQL functions and the tables of bench/explain.sql.
sub make_schema
{
	my ($tables) = @_;
	my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
	# With -Bsymbolic, the library calls its own copies of the extension's functions, even if the
	# extension's library is loaded as well.
	my $sources = join ' ', 'bench/execute.c', map { "src/$_.c" }
	  qw(plan/explain/plan_guard plan/explain/plan_rounds plan/explain/plan_run plan/explain/plan_shape plan/explain/plan_source plan/explain/server_instr
	  server/progress server/subtransaction core/reference core/stats);

	system("cc -O2 -fPIC -shared -Wl,-Bsymbolic -Isrc -isystem \$($pg_config --includedir-server) -o $library $sources -lm") == 0
	  or die "cannot build bench/execute.c\n";
	psql("\\set directory '$directory'\nSET client_min_messages = warning;\nCREATE EXTENSION IF NOT EXISTS clocktiming;\n"
		  . "DROP SCHEMA IF EXISTS $schema CASCADE;\nCREATE SCHEMA $schema;\nSET search_path = $schema;\n"
		  . "CREATE FUNCTION bench_execute(text, text, boolean, OUT run_ms double precision,"
		  . " OUT root_ms double precision, OUT calls double precision, OUT cpu_ms double precision) LANGUAGE c AS '$library';\n"
		  . "CREATE FUNCTION bench_apart(text, boolean) RETURNS text LANGUAGE c AS '$library';\n"
		  . "CREATE FUNCTION bench_keep_heap() RETURNS void LANGUAGE c AS '$library';\n$tables");
	return;
}

sub drop_schema
{
	psql("SET client_min_messages = warning; DROP SCHEMA IF EXISTS $schema CASCADE;");
	return;
}

my $duckdb = '1.5.5';
my $tpc;

# Returns the texts of the queries of TPC-H ("tpch") or TPC-DS ("tpcds") by their numbers.  If $fill
# is true, makes the data with a scale factor, and replaces the schema of that name.  Uses PyPI's
# duckdb with its extensions, in a temporary virtual environment of Python.
sub make_tpc
{
	my ($name, $factor, $fill) = @_;
	my %texts;

	if (!$tpc)
	{
		$tpc = File::Temp->newdir('tpc.XXXXXX', DIR => $directory);
		run("python3 -m venv $tpc/venv && $tpc/venv/bin/pip install -q duckdb==$duckdb duckdb-extension-tpch==$duckdb duckdb-extension-tpcds==$duckdb");
		open(my $script, '>', "$tpc/generate.py") or die "generate.py: $!\n";
		print $script <<'PYTHON';
import glob, importlib, sys, duckdb
name, scale, directory, fill = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
package = importlib.import_module("duckdb_extension_" + name).__path__[0]
db = duckdb.connect()
db.execute("LOAD '%s'" % glob.glob(package + "/extensions/*/*.duckdb_extension")[0])
for number, query in db.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall():
    with open("%s/%s-%d.query" % (directory, name, number), "w") as file:
        file.write(query.strip().rstrip(";"))
if fill != "1":
    sys.exit()
db.execute(f"CALL {'dbgen' if name == 'tpch' else 'dsdgen'}(sf = {scale})")
with open(f"{directory}/{name}.sql", "w") as schema:
    for (table,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        columns = db.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]).fetchall()
        schema.write("CREATE TABLE %s (%s);\n" % (table, ", ".join('"%s" %s' % c for c in columns)))
        db.execute(f"COPY {table} TO '{directory}/{name}-{table}.csv' (HEADER false)")
        schema.write("\\copy %s FROM '%s/%s-%s.csv' (FORMAT csv)\n" % (table, directory, name, table))
        for column, _ in columns:
            if column.endswith(("_sk", "key")):
                schema.write('CREATE INDEX ON %s ("%s");\n' % (table, column))
PYTHON
		close $script;
	}
	$fill = $fill ? 1 : 0;
	run("$tpc/venv/bin/python $tpc/generate.py $name $factor $tpc $fill");
	psql("SET client_min_messages = warning;\nDROP SCHEMA IF EXISTS $name CASCADE;\nCREATE SCHEMA $name;\nSET search_path = $name;\n\\i $tpc/$name.sql\nVACUUM ANALYZE;\n") if $fill;
	foreach my $file (glob "$tpc/$name-*.query")
	{
		my ($number) = $file =~ /-(\d+)\.query$/;

		open(my $in, '<', $file) or die "$file: $!\n";
		$texts{$number} = do { local $/; <$in> };
		close $in;
	}
	return %texts;
}

1;
