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
# What npm installs, 680 MB, is kept in $PORTICO_MEDUSA_CACHE, by default
# ~/.cache/portico/medusa, so that the second start takes seconds.
#
# Progress goes to standard error. When Medusa answers, one line of JSON goes to
# standard output: its URL, an administrator's e-mail address and password, and what
# the mapping needs besides. The script then stays until Medusa ends, and takes it along
# when it is told to end itself. The password is new at every start.
set -eu

version=2.21.2
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 3 ] || { sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 DATABASE_URL=$2 port=$3
cache=${PORTICO_MEDUSA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/portico/medusa}/$version

say() { echo "medusa: $*" >&2; }

for program in node npm; do
	command -v $program >/dev/null || { say "$program is not installed: Medusa needs Node.js 20.19 or newer and npm"; exit 1; }
done

# Two starts at once install one after the other; the mark says that it is whole.
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/whole" ]; then
	say "npm installs $version into $cache, which takes some minutes once"
	cat >"$cache/package.json" <<-JSON
		{"private": true, "dependencies": {"@medusajs/medusa": "$version", "@medusajs/framework": "$version", "@medusajs/cli": "$version"}}
	JSON
	(cd "$cache" && npm install --no-audit --no-fund --loglevel=error >&2)
	touch "$cache/whole"
fi
exec 9>&-

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
email=portico-$(date +%s)-$$@example.com
node_modules/.bin/medusa user -e "$email" -p "$SECRET" >&2

say "the server starts on $BACKEND_URL"
node_modules/.bin/medusa start -p "$port" -H 127.0.0.1 </dev/null >&2 &
medusa=$!
trap 'kill $medusa 2>/dev/null; wait $medusa; exit 0' TERM INT HUP
EMAIL=$email PASSWORD=$SECRET MEDUSA_PID=$medusa node "$here/prepare.mjs" || { kill $medusa; exit 1; }
wait $medusa
