#!/usr/bin/env bash
# Package:  MariaDB 10.11.19 (Debian: mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1)
# Guess:    JSON_ARRAYAGG returns all rows or fails, as in MySQL and PostgreSQL. If anything cut its text, that would no
#           longer be JSON, so that a parser notices.
# Behavior: group_concat_max_len, 1 MiB by default, limits JSON_ARRAYAGG, too. A longer array is cut in the middle of a
#           value, and then closed: it is valid JSON with fewer elements, of which the last one is short. The
#           statement succeeds in strict mode, with a warning.
# Output:   1000 rows: valid 1, elements 1000, the last has 1000 characters
#           1100 rows: valid 1, elements 1046, the last has 439 characters
#           Warning 1260 Row 1046 was cut by JSON_ARRAYAGG()
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server" || true; }; rm -rf "$folder"' EXIT
cd "$folder"

version=1:10.11.19-0+deb12u1
apt-get -qq download "mariadb-server-core=$version" "mariadb-client-core=$version"
for package in *.deb; do dpkg -x "$package" root; done
bin=$folder/root/usr/bin sbin=$folder/root/usr/sbin share=$folder/root/usr/share/mysql

options=(--no-defaults --datadir="$folder/data" --lc-messages-dir="$share" --user="$(id -un)" --socket="$folder/socket" --skip-networking)
mkdir -p data/finding
"$sbin/mariadbd" "${options[@]}" --skip-grant-tables >log 2>&1 &
server=$!
sql() { "$bin/mariadb" --no-defaults --socket="$folder/socket" -N -B finding -e "$1"; }
for _ in $(seq 100); do
	sql 'SELECT 1' >/dev/null 2>&1 && break
	sleep 0.2
done

sql "SELECT VERSION()" | grep -q '^10\.11\.19-MariaDB'
sql "SELECT @@sql_mode" | grep -q STRICT_TRANS_TABLES
array() { # array ROWS: the statement for an array of so many texts of 1000 characters
	echo "SELECT JSON_ARRAYAGG(REPEAT('x', 1000)) AS found FROM seq_1_to_$1"
}
show() {
	sql "SELECT CONCAT('$1 rows: valid ', JSON_VALID(found), ', elements ', JSON_LENGTH(found), ', the last has ',
	       LENGTH(JSON_UNQUOTE(JSON_EXTRACT(found, CONCAT('\$[', JSON_LENGTH(found) - 1, ']')))), ' characters') FROM ($(array "$1")) AS arrays"
}
{
	show 1000
	show 1100
	sql "$(array 1100); SHOW WARNINGS" | tail -n 1 | tr '\t' ' '
} | tee seen
diff - seen <<'SEEN'
1000 rows: valid 1, elements 1000, the last has 1000 characters
1100 rows: valid 1, elements 1046, the last has 439 characters
Warning 1260 Row 1046 was cut by JSON_ARRAYAGG()
SEEN
