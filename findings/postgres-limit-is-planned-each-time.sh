#!/usr/bin/env bash
# Package:  @electric-sql/pglite 0.3.11 (PostgreSQL 17.5)
# Guess:    A prepared statement keeps one plan after five executions if planning for its values gains nothing.
#           A list behind a key, by the same key, has the same plan, a scan of the index, for each limit.
# Behavior: It compares estimated costs, not plans, and for a limit that is a parameter it expects a tenth of the rows.
#           A smaller limit is cheaper than that, so the statement is planned at each execution for ever; a
#           greater one is not. A limit in the text lets it keep the plan.
# Output:   LIMIT $2 with 10: planned 20 times, kept 0 times
#           LIMIT $2 with 1000: planned 5 times, kept 15 times
#           LIMIT 10: planned 5 times, kept 15 times
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
await db.exec("CREATE TABLE product (id BIGINT PRIMARY KEY); INSERT INTO product SELECT generate_series(1, 5000); ANALYZE product");

async function report(limit, value) {
  await db.exec(`DEALLOCATE ALL; PREPARE list AS SELECT id FROM product WHERE id > $1 ORDER BY id LIMIT ${limit}`);
  for (let i = 0; i < 20; i++) await db.exec(`EXECUTE list(7${value && `, ${value}`})`);
  const { rows } = await db.query("SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE name = 'list'");
  const name = `LIMIT ${limit}${value && ` with ${value}`}`;
  console.log(`${name}: planned ${rows[0].custom_plans} times, kept ${rows[0].generic_plans} times`);
}

await report("$2", "10");
await report("$2", "1000");
await report("10", "");
JS
seen=$(node main.js)
printf '%s\n' "$seen"
# shellcheck disable=SC2016
grep -qxF 'LIMIT $2 with 10: planned 20 times, kept 0 times' <<<"$seen"
# shellcheck disable=SC2016
grep -qxF 'LIMIT $2 with 1000: planned 5 times, kept 15 times' <<<"$seen"
grep -qxF 'LIMIT 10: planned 5 times, kept 15 times' <<<"$seen"
