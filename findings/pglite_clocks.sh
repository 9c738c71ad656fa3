#!/usr/bin/env bash
# PGlite (PostgreSQL as WebAssembly) has two clocks, and no statement_timeout.
#
# Seen with @electric-sql/pglite 0.5.17 on Node.js 20:
# - clock_timestamp() advances by whole milliseconds.  The clock of EXPLAIN ANALYZE in the same server does not: its times have a
#   finer resolution.  So a duration computed from clock_timestamp() is 0 or at least 1 ms, while EXPLAIN shows microseconds.
# - statement_timeout can be set and is shown, but a statement that takes longer is not cancelled, and raises no error.
# Needs node and npm.  Exits with 0 if this is still so.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/pglite.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund @electric-sql/pglite@0.5.17
cat >clocks.js <<'END'
import { PGlite } from '@electric-sql/pglite';
const db = new PGlite();
const one = async (sql) => Object.values((await db.query(sql)).rows[0])[0];
await db.exec(`CREATE TABLE readings AS SELECT extract(epoch FROM clock_timestamp()) * 1000000 AS us FROM generate_series(1, 200000)`);
const steps = Number(await one('SELECT count(DISTINCT us) FROM readings'));
const broken = Number(await one('SELECT count(*) FROM readings WHERE us % 1000 <> 0'));
let fine = 0;
for (let i = 0; i < 20; i++) {
  const plan = await one('EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM generate_series(1, 500)');
  const ms = (typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan['Actual Total Time'];
  if (ms > 0 && ms % 1 !== 0) fine++;
}
await db.exec(`SET statement_timeout = '50ms'`);
const start = Date.now();
let outcome = 'no error';
try { await db.query('SELECT count(*) FROM generate_series(1, 3000000)'); } catch (e) { outcome = e.message; }
const took = Date.now() - start;
console.log(`${await one('SELECT version()')}`);
console.log(`clock_timestamp(): ${steps} different values, ${broken} not on a whole millisecond`);
console.log(`EXPLAIN ANALYZE: ${fine} of 20 times are not whole milliseconds`);
console.log(`statement_timeout ${await one('SHOW statement_timeout')}: a statement of ${took} ms ended with ${outcome}`);
process.exit(steps > 1 && broken === 0 && fine > 10 && took > 100 && outcome === 'no error' ? 0 : 1);
END
node clocks.js
