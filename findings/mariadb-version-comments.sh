#!/usr/bin/env bash
# Package:  MariaDB 10.11.19 (Debian: mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1)
# Guess:    The server runs the content of a comment such as /*!80023 ... */ if its version number is at
#           least that one. 10.11 counts as 101100, so it runs this one.
# Behavior: Comments for the versions 50700 to 99999 are skipped by every release, without a warning: they are
#           taken as meant for MySQL alone. Comments for lower and for higher versions are run as expected.
#           A column that such a comment makes INVISIBLE for MySQL 8.0.23 is visible in MariaDB.
# Output:   50003   run
#           50699   run
#           50700   skipped
#           80023   skipped
#           99999   skipped
#           100303  run
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
for version in 50003 50699 50700 80023 99999 100303; do
	result=skipped
	[ "$(sql "SELECT 1 /*!$version + 1 */")" = 1 ] || result=run
	printf '%-6s  %s\n' "$version" "$result"
done | tee seen
diff - seen <<'SEEN'
50003   run
50699   run
50700   skipped
80023   skipped
99999   skipped
100303  run
SEEN
