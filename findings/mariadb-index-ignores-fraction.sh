#!/usr/bin/env bash
# Package:  MariaDB 10.11.19 (Debian: mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1)
# Guess:    An index changes how fast rows are found, never which rows.
# Behavior: A column of whole seconds, TIMESTAMP or DATETIME, is compared with a text that has a fraction of
#           a second. Without an index no row equals it. With one, the text is cut to whole seconds for the
#           look-up, and the row of the whole second is found. So a row comes or goes when an index is added,
#           or when the optimizer chooses another plan.
# Output:   no index: timestamp 0, datetime 0
#           index:    timestamp 1, datetime 1
#           index, ignored: timestamp 0, datetime 0
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
sql "CREATE TABLE moments (id INT PRIMARY KEY, t TIMESTAMP NOT NULL DEFAULT '2020-01-01', d DATETIME NOT NULL) ENGINE=InnoDB;
     INSERT INTO moments SELECT seq, '2026-05-01 10:00:00' + INTERVAL seq SECOND, '2026-05-01 10:00:00' + INTERVAL seq SECOND FROM seq_1_to_2000"
count() { # count COLUMN [CLAUSE]
	sql "SELECT COUNT(*) FROM moments ${2:-} WHERE $1 = '2026-05-01 10:00:07.5'"
}
show() { printf '%s timestamp %s, datetime %s\n' "$1" "$(count t "${2:-}")" "$(count d "${2:-}")"; }
{
	show 'no index:'
	sql 'CREATE INDEX by_t ON moments (t); CREATE INDEX by_d ON moments (d); ANALYZE TABLE moments' >/dev/null
	show 'index:   '
	show 'index, ignored:' 'IGNORE INDEX (by_t, by_d)'
} | tee seen
diff - seen <<'SEEN'
no index: timestamp 0, datetime 0
index:    timestamp 1, datetime 1
index, ignored: timestamp 0, datetime 0
SEEN
