#!/usr/bin/env bash
# pev2 loses the triggers of a plan in text format that has a line "Serialization".
#
# Seen with pev2 1.21.0 on Node.js 20: EXPLAIN (ANALYZE, SERIALIZE) of PostgreSQL 19rc1 prints the
# lines "Trigger" before the line "Serialization".  pev2 finds no trigger then.  Without the line
# "Serialization", or if this line is before the triggers, pev2 finds the trigger.
# Needs node and npm.  Exits with 0 if this is still so.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/pev2.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund pev2@1.21.0
cat >parse.cjs <<'END'
const fs = require('fs')
const vm = require('vm')
// Replaces Vue, which the parser does not need.  pev2's store is the reactive object that parses.
const made = []
globalThis.Vue = new Proxy({}, { get: (_, name) => name === 'reactive' ?
	object => (made.push(object), object) : object => object ?? {} })
vm.runInThisContext(fs.readFileSync('node_modules/pev2/dist/pev2.umd.js', 'utf8'))
const store = made.find(object => typeof object.parse === 'function')

const trigger = 'Trigger trg: time=0.133 calls=1'
const serialization = 'Serialization: time=0.002 ms  output=1kB  format=text'
const triggers = lines => {
	store.parse(['Insert on s  (cost=0.00..0.01 rows=1 width=4) (actual time=0.071..0.072 rows=1.00 loops=1)',
		'  ->  Result  (cost=0.00..0.01 rows=1 width=4) (actual time=0.001..0.001 rows=1.00 loops=1)',
		'Planning Time: 0.019 ms', ...lines, 'Execution Time: 0.223 ms'].join('\n'), '')
	return store.stats.triggers.length
}
const counts = [triggers([trigger]), triggers([serialization, trigger]), triggers([trigger, serialization])]
console.log(`trigger alone: ${counts[0]} found`)
console.log(`after Serialization: ${counts[1]} found`)
console.log(`before Serialization, as PostgreSQL prints it: ${counts[2]} found`)
process.exit(counts.join() === '1,1,0' ? 0 : 1)
END
node parse.cjs
