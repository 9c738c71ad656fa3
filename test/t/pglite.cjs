// Executes SQL in PGlite, a PostgreSQL compiled to WebAssembly. Usage: node pglite.cjs DIRECTORY, the
// directory of its package. Reads a JSON array of statements, and writes an array of results: arrays
// of rows, or error messages.

const { PGlite } = require(`${process.argv[2]}/index.cjs`);

(async () => {
	const server = new PGlite();
	const results = [];

	for (const sql of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
		try {
			results.push((await server.exec(sql)).at(-1)?.rows ?? []);
		} catch (error) {
			results.push(`${error.code}: ${error.message} ${error.where ?? ''}`);
		}
	}
	process.stdout.write(JSON.stringify(results), () => process.exit(0));
})();
