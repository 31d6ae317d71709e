#!/usr/bin/env bash
# Package:  MariaDB 10.11.19 (Debian: mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1)
# Guess:    A time in the basic format of ISO 8601 is read with or without minutes and seconds, as one with
#           hyphens is, or else refused.
# Behavior: With the hour alone, or with hour and minute, the digits before the T are taken as pairs, of which
#           the first is a year of two digits: 20120303T10 is 3 o'clock on 2020-12-03. A comparison uses that
#           time and gives a warning, so a filter silently finds other rows. A write in strict mode is refused.
# Output:   2012-03-03T10    2012-03-03 10:00:00  rows 3
#           20120303T100000  2012-03-03 10:00:00  rows 3
#           20120303T10      2020-12-03 03:00:00  rows 1
#           20120303T1000    2020-12-03 03:00:00  rows 1
#           write of 20120303T10: ERROR 1292
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
sql "CREATE TABLE moments (t DATETIME NOT NULL); INSERT INTO moments VALUES ('2012-03-03 12:00:00'), ('2020-06-01'), ('2021-01-01')"
{
	for text in 2012-03-03T10 20120303T100000 20120303T10 20120303T1000; do
		printf '%-15s  %s  rows %s\n' "$text" "$(sql "SELECT CAST('$text' AS DATETIME)")" "$(sql "SELECT COUNT(*) FROM moments WHERE t >= '$text'")"
	done
	printf 'write of 20120303T10: %s\n' "$(sql "INSERT INTO moments VALUES ('20120303T10')" 2>&1 | grep -o 'ERROR [0-9]*' || true)"
} | tee seen
diff - seen <<'SEEN'
2012-03-03T10    2012-03-03 10:00:00  rows 3
20120303T100000  2012-03-03 10:00:00  rows 3
20120303T10      2020-12-03 03:00:00  rows 1
20120303T1000    2020-12-03 03:00:00  rows 1
write of 20120303T10: ERROR 1292
SEEN
