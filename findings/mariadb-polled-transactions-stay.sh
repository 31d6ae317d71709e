#!/usr/bin/env bash
# Package:  MariaDB 10.11.19 (Debian: mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1)
# Guess:    information_schema.innodb_trx, which is cached for a tenth of a second, shows within that time that a
#           transaction waits for a lock, so a test or monitor may read it in a loop until it does.
# Behavior: Each read renews the age of the cache. A loop that reads more than ten times a second sees the same rows for
#           as long as it lasts, while the status variable Innodb_row_lock_current_waits changes at once.
# Output:   read every 50 ms for 3 s  waiting 0  status 1
#           read 300 ms later         waiting 1
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
sql "CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB; INSERT INTO counters VALUES (1, 0)"

waiting="SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
reads=
for _ in $(seq 60); do reads+="$waiting; DO SLEEP(0.05); "; done
sql "BEGIN; UPDATE counters SET n = 1 WHERE id = 1; DO SLEEP(8); COMMIT" 2>/dev/null &
sleep 1
sql "$reads SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'; DO SLEEP(0.3); $waiting" >read &
reader=$!
sleep 0.5
sql "UPDATE counters SET n = 2 WHERE id = 1" 2>/dev/null &
wait "$reader"
{
	printf 'read every 50 ms for 3 s  waiting %s  status %s\n' "$(sed -n 60p read)" "$(awk 'NR == 61 { print $2 }' read)"
	printf 'read 300 ms later         waiting %s\n' "$(sed -n 62p read)"
} | tee seen
diff - seen <<'SEEN'
read every 50 ms for 3 s  waiting 0  status 1
read 300 ms later         waiting 1
SEEN
