
# Dump and restore must preserve stored samples and privileges, and COPY BINARY must preserve
# samples. Damaged samples must not crash the server.

use strict;
use warnings;
use File::Basename;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $tempdir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql(
	'postgres', q{
	CREATE ROLE regress_alice;
	CREATE DATABASE source ENCODING 'UTF8' TEMPLATE template0});
$node->safe_psql(
	'source', q{
	CREATE EXTENSION clocktiming;
	CREATE TABLE one (id int, s clock_sample);
	CREATE TABLE many (id int, s clock_sample[]);
	INSERT INTO one
		SELECT row_number() OVER (), s
		FROM (SELECT source FROM clock_sources WHERE available ORDER BY 1) AS c,
			clock_measure(c.source, 0.1) AS s;
	INSERT INTO one VALUES (99, NULL);
	-- A sample with values that samples of real runs rarely have.
	INSERT INTO one
		SELECT 100, s::jsonb || '{"clock": "a \"clock\", \\\\ and a {brace}, µ", "started_at": "9999-12-31T23:59:59.999999Z",
			"resolution_ns": 1e-7, "granularity_ticks": null, "readings": 7, "mean_margin_ns": null, "cost_ns": null,
			"cost_margin_ns": null, "advance_s": -0.1, "reference_bound_ns": 1.5, "longest_stall": 2,
			"backward_steps": 3, "backward_max_ticks": 1234567890123, "warps": 5, "warp_max_ns": 6.5,
			"warp_total_ns": 7.5, "lags": 8, "lag_max_ns": 9.5, "lag_total_ns": 10.5, "gaps": 11, "gap_max_ns": 12.5,
			"gap_total_ns": 13.5, "cpus": [0, 5, 4095], "migrations": 14, "precision_bits": 12,
			"ticks": [0, 25, 4000000000], "counts": [2, 1, 1]}'
		FROM clock_measure('system', 0.01) AS s;
	INSERT INTO many SELECT id, ARRAY[s, s] FROM one;
	INSERT INTO many SELECT 101, array_agg(s ORDER BY id) FROM one;
	GRANT EXECUTE ON FUNCTION clock_measure(text, double precision, double precision) TO regress_alice;
	REVOKE EXECUTE ON FUNCTION clock_report(double precision, double precision) FROM pg_monitor;
	REVOKE EXECUTE ON FUNCTION clock_summary(clock_sample) FROM PUBLIC;
	GRANT SELECT ON clock_sources TO regress_alice});

my @facts = (
	[ 'samples', q{SELECT id, md5(s::text) FROM one ORDER BY id} ],
	[ 'arrays of samples', q{SELECT id, md5(s::text) FROM many ORDER BY id} ],
	[
		'summaries', q{
		SELECT id, v.* FROM one, clock_summary(s) AS v WHERE s IS DISTINCT FROM NULL ORDER BY id}
	],
	[
		'summaries from arrays', q{
		SELECT id, v.* FROM many, unnest(s) AS u, clock_summary(u) AS v
			WHERE u IS NOT NULL ORDER BY id, v.source, v.readings}
	],
	[
		'histograms', q{
		SELECT id, md5(string_agg(v::text, ',' ORDER BY v)) FROM one, clock_histogram(s) AS v
			WHERE s IS NOT NULL GROUP BY id ORDER BY id}
	],
	[
		'privileges', q{
		SELECT proname, pg_get_function_identity_arguments(oid), g.grantee::regrole, g.privilege_type
			FROM pg_proc, aclexplode(proacl) AS g WHERE proname LIKE 'clock\_%'
			UNION ALL
			SELECT relname, '', g.grantee::regrole, g.privilege_type
			FROM pg_class, aclexplode(relacl) AS g WHERE relname LIKE 'clock\_%'
			ORDER BY 1, 2, 3, 4}
	],
	[ 'extension', q{SELECT extname, extversion FROM pg_extension ORDER BY 1} ]);

my %before = map { $_->[0] => $node->safe_psql('source', $_->[1]) } @facts;
cmp_ok(length $before{$_}, '>', 20, "$_: there is something to compare")
  foreach map { $_->[0] } @facts;
like($before{privileges}, qr/^clock_measure\|.*\|regress_alice\|EXECUTE$/m,
	'privileges: one granted');
unlike($before{privileges}, qr/^clock_report\|.*\|pg_monitor\|/m,
	'privileges: one revoked');

sub same
{
	my ($database, $what) = @_;

	is($node->safe_psql($database, $_->[1]), $before{ $_->[0] },
		"$what: $_->[0]")
	  foreach @facts;

	# Functions accept the restored values.
	is( $node->safe_psql(
			$database,
			q{SELECT (clock_summary(clock_merge(s))).readings = sum(v.readings) FROM one, clock_summary(s) AS v
				WHERE v.source = 'system' AND id < 99}
		),
		't',
		"$what: restored samples can be merged");
	return;
}

$node->safe_psql('postgres', "CREATE DATABASE $_ ENCODING 'UTF8' TEMPLATE template0")
  foreach ('plain', 'custom', 'copied');

$node->command_ok(
	[ 'pg_dump', '-f', "$tempdir/plain.sql", $node->connstr('source') ],
	'pg_dump');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f',
		"$tempdir/plain.sql", $node->connstr('plain')
	],
	'psql');
same('plain', 'pg_dump and psql');

$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$tempdir/custom", $node->connstr('source') ],
	'pg_dump -Fc');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-d', $node->connstr('custom'),
		"$tempdir/custom"
	],
	'pg_restore');
same('custom', 'pg_dump -Fc and pg_restore');

# COPY BINARY between databases with the same encoding, and with different encodings.
$node->safe_psql('copied',
	'CREATE EXTENSION clocktiming; CREATE TABLE one (id int, s clock_sample)');
foreach my $encoding ('UTF8', 'LATIN1')
{
	$node->safe_psql(
		'source', qq{SET client_encoding = '$encoding';
			COPY one TO '$tempdir/one.$encoding' (FORMAT binary)});
	$node->safe_psql(
		'copied', qq{TRUNCATE one; SET client_encoding = '$encoding';
			COPY one FROM '$tempdir/one.$encoding' (FORMAT binary)});
	is($node->safe_psql('copied', $facts[0][1]),
		$before{samples}, "COPY BINARY in $encoding");
}
isnt(-s "$tempdir/one.UTF8", -s "$tempdir/one.LATIN1",
	'the encodings differ');

# A file of COPY BINARY that contains a sample in format version 1, which must remain readable. The
# file has a header, a row with one field, and a trailer. test/sql/samples.sql has the same sample
# as text.
my $version_1 = pack 'H*',
  '010000000672647473637000000014524454534350202271756f74656422205c2075'
  . '730002ef2a8bd3ce193fb999999999999a41e35f1a460000003fd89d8b1646432140'
  . '00000000000000000000000000000c3f8930be0ded288d40324000000000003f7062'
  . '4dd2f1a9fcbe8421f5f40d8376403580000000000000000000000000010000000000'
  . '000002000000000000004d000000000000000140b388800000000040b38880000000'
  . '000000000000000002409770000000000040a3880000000000000000000000000341'
  . '32d687000000004141e5672000000000000003000000000000000300000fff000000'
  . '00000000050e00000005000000000000000000000000000000300000000000000032'
  . '0000000000001000000003a352944000000000050000000000000001000000000000'
  . '0005000000000000000200000000000000010000000000000001';

$node->safe_psql('copied', 'CREATE TABLE fixture (s clock_sample)');

sub copy_binary
{
	my ($value) = @_;
	my $file = "$tempdir/value";

	open my $fh, '>:raw', $file or die "$file: $!";
	print $fh "PGCOPY\n\xff\r\n\0", pack('NN', 0, 0), pack('nN', 1, length $value),
	  $value, pack('n', 0xffff);
	close $fh or die "$file: $!";
	return $node->psql(
		'copied', "TRUNCATE fixture; COPY fixture FROM '$file' (FORMAT binary);
		 SELECT count(*) FROM fixture, clock_summary(s) AS v; SELECT s FROM fixture");
}

my ($ret, $out, $err) = copy_binary($version_1);
is($err, '', 'a value of version 1 is read');
my ($version_1_text) =
  slurp_file(dirname(__FILE__) . '/../sql/samples.sql') =~ /^INSERT INTO fixture VALUES\s*\(\s*'(.*?)'\);$/ms;
$version_1_text =~ s/'\n\s*'//g;    # the string is continued on several lines
is((split /\n/, $out)[-1], $version_1_text, 'a value of version 1 has the same text as before');

foreach (
	[ 'a newer version', sub { substr($_[0], 0, 1) = "\x02" }, qr/version 2 cannot be read.*Install a newer/s ],
	[ 'version 0', sub { substr($_[0], 0, 1) = "\x00" }, qr/malformed clock_sample/ ],
	[ 'a byte too few', sub { chop $_[0] }, qr/is cut off/ ],
	[ 'a byte too many', sub { $_[0] .= 'x' }, qr/incorrect binary data format/ ],
	[ 'a text with a zero byte', sub { $_[0] =~ s/rdtscp/rd\0scp/ }, qr/invalid byte sequence/ ],
	[ 'a negative length', sub { $_[0] = "\x01\xff\xff\xff\xff" }, qr/has more than 255 bytes/ ],
	[ 'a text without end', sub { $_[0] = "\x01\x00\x00\x00\xffx" }, qr/insufficient data/ ],
	[ 'nothing', sub { $_[0] = '' }, qr/no data left/ ])
{
	my ($what, $change, $message) = @$_;
	my $value = $version_1;

	$change->($value);
	($ret, $out, $err) = copy_binary($value);
	like($err, $message, "$what: refused");
}

# Changes text and binary samples at random, with a constant seed. Each must be rejected or be a
# value that all functions accept. The server must not crash.
my $seed = 4711;

sub random_below
{
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	return int($seed / 65536) % $_[0];
}

sub mutate
{
	my ($value) = @_;

	foreach (0 .. random_below(3))
	{
		my $at = random_below(length $value);
		my $kind = random_below(5);

		if ($kind == 0) { substr($value, $at, 1) = chr random_below(256) }
		elsif ($kind == 1)
		{
			substr($value, $at, 1) = chr(ord(substr($value, $at, 1)) ^ (1 << random_below(8)));
		}
		elsif ($kind == 2) { substr($value, $at, random_below(9)) = '' }
		elsif ($kind == 3)
		{
			substr($value, $at, 0) =
			  substr($value, random_below(length $value), random_below(20));
		}
		else { substr($value, $at, 1) = random_below(10) x random_below(20) }
		$value = 'x' if $value eq '';
	}
	return $value;
}

$node->safe_psql(
	'copied', q{
	CREATE TABLE mutated (n int, value bytea);
	-- Calls functions with a sample. Returns 'changed' if the sample's text or JSON, when read, is
	-- another value, 'too large to merge' if its merging overflows, and otherwise 'read'.
	CREATE FUNCTION try_sample(s clock_sample) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		v clock_summary_row := clock_summary(s);
	BEGIN
		IF v.readings > v.backward_steps THEN
			PERFORM clock_histogram(s), clock_histogram(s, 50);
		END IF;
		IF s::text::clock_sample::text <> s::text OR s::jsonb::clock_sample::text <> s::text THEN
			RETURN 'changed';
		END IF;
		PERFORM clock_merge(x) FROM unnest(ARRAY[s, s]) AS x;
		RETURN 'read';
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RETURN 'too large to merge';
	END $$;
	CREATE FUNCTION try_text(value bytea) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		RETURN try_sample(convert_from(value, 'UTF8')::clock_sample);
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLSTATE;
	END $$});

my %text;
my $rows = join '', map { "$_\t\\\\x" . unpack('H*', mutate($version_1_text)) . "\n" } 1 .. 3000;
append_to_file("$tempdir/mutated", $rows);
$text{$_}++
  foreach split /\n/, $node->safe_psql('copied',
	"COPY mutated FROM '$tempdir/mutated'; SELECT try_text(value) FROM mutated ORDER BY n");
cmp_ok($text{read}, '>', 30, 'some texts were read');
cmp_ok($text{'22P02'}, '>', 1000, 'most texts were refused');
is_deeply([ grep { /^XX|^53|^changed/ } keys %text ], [], 'no text caused an internal error or lack of memory, or was read as another value');
note explain \%text;

# Only COPY calls the receive function, so a file is written for each binary value.
my %binary;
foreach my $n (1 .. 200)
{
	($ret, $out, $err) = copy_binary(mutate($version_1));
	if ($err eq '')
	{
		$out = $node->safe_psql('copied', 'SELECT try_sample(s) FROM fixture');
		isnt($out, 'changed', "binary value $n");
	}
	else
	{
		unlike($err, qr/server closed|out of memory|invalid memory|cache lookup|unexpected/,
			"binary value $n");
	}
	$binary{ $err eq '' ? 'read' : 'refused' }++;
}
cmp_ok($binary{read}, '>', 3, 'some binary values were read');
cmp_ok($binary{refused}, '>', 60, 'most binary values were refused');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time() < now()'), 't', 'the server lives');
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no server process has crashed');

# The dump has CREATE EXTENSION, and none of the extension's objects.
unlike(slurp_file("$tempdir/plain.sql"),
	qr/CREATE (FUNCTION|TYPE|VIEW|AGGREGATE)/,
	'no member of the extension in the dump');

$node->stop;
done_testing();
