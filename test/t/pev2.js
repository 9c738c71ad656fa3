// What pev2 makes of plans: node pev2.js DIRECTORY, where pev2.umd.js is in that.  Reads a JSON array of plans as text, writes
// one of what has become of them: nodes, with figures as they were read, and totals.

const fs = require('fs')
const vm = require('vm')

// Of Vue, pev2's parser needs nothing; its store is what it makes reactive and parses.
const made = []
globalThis.Vue = new Proxy({}, { get: (_, name) => name === 'reactive' ? object => (made.push(object), object) : object => object ?? {} })
vm.runInThisContext(fs.readFileSync(process.argv[2] + '/pev2.umd.js', 'utf8'))
const store = made.find(object => typeof object.parse === 'function')

function parse(source) {
	store.parse(source, '')
	if (!store.plan) return null
	const nodes = []
	const walk = (node, parent) => {
		// pev2 multiplies times by loops, and divides them by the processes.
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
