// Parses plans with pev2, for 048_viewers.pl: node pev2.js DIRECTORY, which contains pev2.umd.js.  Reads a JSON array of plans,
// each as text.  Writes a JSON array with the nodes and totals that pev2 has found in each plan.

const fs = require('fs')
const vm = require('vm')

// Replaces Vue, which pev2 loads but its parser does not need.  Remembers the objects that pev2 makes reactive: the one with the
// method parse() is its store.
const made = []
globalThis.Vue = new Proxy({}, { get: (_, name) => name === 'reactive' ? object => (made.push(object), object) : object => object ?? {} })
vm.runInThisContext(fs.readFileSync(process.argv[2] + '/pev2.umd.js', 'utf8'))
const store = made.find(object => typeof object.parse === 'function')

function parse(source) {
	store.parse(source, '')
	if (!store.plan) return null
	const nodes = []
	const walk = (node, parent) => {
		// pev2 has multiplied times by the loops and divided them by the processes.  Undoes this, to get EXPLAIN's figures.
		const factor = node['Actual Loops'] / ((node['*Workers Launched By Gather'] ?? 0) + 1)
		const ms = time => time === undefined ? null : Math.round(time / factor * 1000) / 1000
		const clock = {}
		for (const key in node) if (key.startsWith('Clock')) clock[key] = node[key]
		const found = { type: node['Node Type'], startup: ms(node['Actual Startup Time']), total: ms(node['Actual Total Time']),
			rows: node['Actual Rows'] ?? null, loops: node['Actual Loops'] ?? null, parent, clock }
		nodes.push(found)
		for (const child of node.Plans ?? []) walk(child, nodes.indexOf(found))
	}
	walk(store.plan.content.Plan, null)
	for (const cte of store.plan.ctes) walk(cte, null)
	const { planningTime, executionTime, triggers } = store.stats
	return { nodes, planningTime, executionTime, triggers: triggers.length, query: store.query }
}

console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(parse)))
