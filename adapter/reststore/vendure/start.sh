#!/bin/sh
# Installs and starts a Vendure for tests and trials, on loopback only.
#
#   start.sh FOLDER DATABASE_URL PORT
#
# FOLDER        where it runs: its uploads; made if missing
# DATABASE_URL  an empty PostgreSQL database, or that of an earlier start,
#               as postgres://user@127.0.0.1:5432/vendure
# PORT          on 127.0.0.1
#
# What npm installs, 160 MB, is kept in $VENDURE_CACHE, by default
# ~/.cache/portico/vendure, so that the second start takes seconds. With
# VENDURE_WORKER=1 there is a worker, so that collections have products.
#
# Progress goes to standard error. When Vendure answers, one line of JSON goes to
# standard output: its URL, the superadministrator's name and password, and what
# the mapping needs besides. The script then stays until Vendure ends, and takes it along
# when it is told to end itself. The password is that of the first start with a database.
set -eu

name=vendure version=3.7.3
# Without the override npm looks for a version that not every registry has.
dependencies="\"dependencies\": {\"@vendure/core\": \"$version\", \"@vendure/asset-server-plugin\": \"$version\", \"pg\": \"^8\"},
	\"overrides\": {\"@graphql-tools/batch-execute\": \"^10.0.0\"}"
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 3 ] || { sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 DATABASE_URL=$2 PORT=$3 cache=${VENDURE_CACHE:-}
# shellcheck source=../../sqlstore/sqltest/start.sh
. "$here/../../sqlstore/sqltest/start.sh"
install

mkdir -p "$folder"
cd "$folder"
ln -sfn "$cache/node_modules" node_modules
cp "$here/portico.cjs" "$here/vendure.cjs" .
# Vendure makes its administrator once, so that a later start needs the same password.
[ -e secret ] || (umask 077; node -p 'require("crypto").randomBytes(32).toString("hex")' >secret)
ADMIN=superadmin SECRET=$(cat secret) BACKEND_URL=http://127.0.0.1:$PORT
export DATABASE_URL PORT ADMIN SECRET BACKEND_URL NODE_ENV=production
serve node vendure.cjs
