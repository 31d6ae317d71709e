#!/usr/bin/env bash
# Package:  @electric-sql/pglite 0.3.11 (PostgreSQL 17.5)
# Guess:    format_type with the modifier NULL names a column's type without its length. A cast to that name checks
#           the type and leaves the length to the column, as it does for varchar, numeric and timestamp.
# Behavior: For a CHAR column it returns "character", which in a cast means one character, and for BIT "bit", one
#           bit: the value is cut to it without an error, and an INSERT stores it. A value that is too long for the
#           column is cut, too, instead of refused. With the modifier -1 it returns bpchar and "bit" in quotes,
#           which have no length.
# Output:   NULL: character varying keeps abc, character stores a, bit makes 1
#           -1: character varying keeps abc, bpchar stores abc, "bit" makes 101
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >package.json <<'JSON'
{ "private": true, "type": "module", "dependencies": { "@electric-sql/pglite": "0.3.11" } }
JSON
npm install --silent --no-audit --no-fund
cat >main.js <<'JS'
import { PGlite } from "@electric-sql/pglite";

const db = new PGlite();
await db.exec("CREATE TABLE item (name VARCHAR(3), code CHAR(3), flags BIT(3))");
for (const modifier of ["NULL", "-1"]) {
  const { rows } = await db.query(
    `SELECT format_type(atttypid, ${modifier}) AS type FROM pg_attribute WHERE attrelid = 'item'::regclass AND attnum > 0 ORDER BY attnum`);
  const [name, code, flags] = rows.map((row) => row.type);
  await db.exec("DELETE FROM item");
  await db.query(`INSERT INTO item (name, code) VALUES (CAST($1 AS ${name}), CAST($2 AS ${code}))`, ["abc", "abc"]);
  const { rows: [stored] } = await db.query("SELECT name, RTRIM(code) AS code FROM item");
  const { rows: [bits] } = await db.query(`SELECT CAST(B'101' AS ${flags})::TEXT AS made`);
  console.log(`${modifier}: ${name} keeps ${stored.name}, ${code} stores ${stored.code}, ${flags} makes ${bits.made}`);
}
JS
seen=$(node main.js)
printf '%s\n' "$seen"
grep -qxF 'NULL: character varying keeps abc, character stores a, bit makes 1' <<<"$seen"
grep -qxF -- '-1: character varying keeps abc, bpchar stores abc, "bit" makes 101' <<<"$seen"
