#!/bin/sh
# Installs and starts a Medusa for tests and trials, on loopback only.
#
#   start.sh FOLDER DATABASE_URL PORT
#
# FOLDER        where it runs: its configuration and uploads; made if missing
# DATABASE_URL  an empty PostgreSQL database, or that of an earlier start,
#               as postgres://user@127.0.0.1:5432/medusa
# PORT          on 127.0.0.1
#
# What npm installs, 680 MB, is kept in $MEDUSA_CACHE, by default
# ~/.cache/portico/medusa, so that the second start takes seconds.
#
# Progress goes to standard error. When Medusa answers, one line of JSON goes to
# standard output: its URL, an administrator's e-mail address and password, and what
# the mapping needs besides. The script then stays until Medusa ends, and takes it along
# when it is told to end itself. The password is new at every start.
set -eu

name=medusa version=2.21.2
dependencies="\"dependencies\": {\"@medusajs/medusa\": \"$version\", \"@medusajs/framework\": \"$version\", \"@medusajs/cli\": \"$version\"}"
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 3 ] || { sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 DATABASE_URL=$2 port=$3 cache=${MEDUSA_CACHE:-}
# shellcheck source=../../sqlstore/sqltest/start.sh
. "$here/../../sqlstore/sqltest/start.sh"
install

mkdir -p "$folder/src/api"
cd "$folder"
ln -sfn "$cache/node_modules" node_modules
ln -sfn "$cache/package.json" package.json
cat >medusa-config.js <<'JS'
const { defineConfig } = require("@medusajs/framework/utils")

module.exports = defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    databaseDriverOptions: { ssl: false, connection: { ssl: false } },
    http: { storeCors: "*", adminCors: "*", authCors: "*", jwtSecret: process.env.SECRET, cookieSecret: process.env.SECRET },
  },
  modules: [{
    resolve: "@medusajs/medusa/file",
    options: { providers: [{
      resolve: "@medusajs/medusa/file-local", id: "local",
      options: { upload_dir: "static", backend_url: process.env.BACKEND_URL + "/static" },
    }] },
  }],
})
JS
SECRET=$(node -p 'require("crypto").randomBytes(32).toString("hex")')
BACKEND_URL=http://127.0.0.1:$port
export DATABASE_URL SECRET BACKEND_URL NODE_ENV=production MEDUSA_DISABLE_TELEMETRY=1 PORT="$port"

# Standard output is for the one line alone.
say "the database is prepared"
node_modules/.bin/medusa db:migrate --skip-links >&2
node_modules/.bin/medusa db:sync-links --execute-all >&2
# A user of an earlier start stays, with another password: every start has its own.
EMAIL=portico-$(date +%s)-$$@example.com PASSWORD=$SECRET
export EMAIL PASSWORD
node_modules/.bin/medusa user -e "$EMAIL" -p "$PASSWORD" >&2
serve node_modules/.bin/medusa start -p "$port" -H 127.0.0.1
