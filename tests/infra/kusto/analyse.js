// Reads {name: query} as JSON, writes {name: {faults, columns}}: what Kusto's own parser says of each query, given the
// tables of tables.json.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

// The package is no module: its scripts share the global scope.
const home = path.join(__dirname, "node_modules", "@kusto", "language-service-next");
for (const file of ["bridge.min.js", "Kusto.Language.Bridge.min.js"]) {
  vm.runInThisContext(fs.readFileSync(path.join(home, file), "utf8"), file);
}
const { Symbols, GlobalState, KustoCode } = globalThis.Kusto.Language;

const listed = (list) => Array.from({ length: list.Count }, (_, index) => list.getItem(index));

const tables = Object.entries(JSON.parse(fs.readFileSync(path.join(__dirname, "tables.json"), "utf8"))).map(
  ([name, columns]) => {
    const schema = Object.entries(columns).map(([column, type]) => `${column}:${type}`);
    return new Symbols.TableSymbol.$ctor7(name, `(${schema.join(",")})`, null);
  },
);
const globals = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.ctor("db", tables));

const findings = {};
for (const [name, query] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
  const code = KustoCode.ParseAndAnalyze(query, globals);
  const result = code.ResultType && code.ResultType.Columns ? listed(code.ResultType.Columns) : [];
  findings[name] = {
    faults: listed(code.GetDiagnostics()).map((fault) => `at ${fault.Start}: ${fault.Message}`),
    columns: Object.fromEntries(result.map((column) => [column.Name, column.Type.Name])),
  };
}
process.stdout.write(JSON.stringify(findings));
