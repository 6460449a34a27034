// Statements parsed by ANTLR's grammar of Transact-SQL, which is another's than Plimsoll's.
//   node tsql.cjs < LINES     a line: a statement as JSON text; prints its first error, or "ok"
const { readFileSync } = require("node:fs");
const { CharStreams } = require("antlr4ts/CharStreams");
const { CommonTokenStream } = require("antlr4ts/CommonTokenStream");
const { TSqlLexer } = require("antlr4ts-sql/dist/src/grammar-output/tsql/TSqlLexer");
const { TSqlParser } = require("antlr4ts-sql/dist/src/grammar-output/tsql/TSqlParser");

// The grammar knows capitals only, no `?` (ODBC's, which the driver makes @P1 of), and was written
// before NEXT VALUE FOR: a function call stands in its place.
function spelled(sql) {
  return sql
    .replace(/\?/g, "@P1")
    .toUpperCase()
    .replace(/NEXT VALUE FOR (\w+)/g, "NEXT_OF_$1()");
}

function firstError(sql) {
  const errors = [];
  const listener = { syntaxError: (...said) => errors.push(said[4]) };
  const heard = (recognizer) => {
    recognizer.removeErrorListeners();
    recognizer.addErrorListener(listener);
    return recognizer;
  };
  const lexer = heard(new TSqlLexer(CharStreams.fromString(spelled(sql))));
  heard(new TSqlParser(new CommonTokenStream(lexer))).tsql_file();
  return errors.length === 0 ? "ok" : String(errors[0]).replace(/\s+/g, " ").slice(0, 200);
}

const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
for (const line of lines) console.log(firstError(JSON.parse(line)));
