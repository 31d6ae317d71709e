package binlog

import (
	"strings"
	"testing"
)

func TestIsLocal(t *testing.T) {
	for address, want := range map[string]bool{"tcp 127.0.0.1:3306": true, "tcp [::1]:3306": true, "tcp localhost:3306": true, "unix /run/mysqld/mysqld.sock": true,
		"tcp db.example.com:3306": false, "tcp 10.0.0.7:3306": false, "tcp localhost.example.com:3306": false} {
		network, host, _ := strings.Cut(address, " ")
		if got := isLocal(network, host); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
}

func TestIsBefore105(t *testing.T) {
	for version, want := range map[string]bool{"10.4.32-MariaDB-log": true, "5.5.68-MariaDB": true, "10.5.1-MariaDB": false, "10.11.19-MariaDB-0+deb12u1-log": false, "11.4.2-MariaDB": false} {
		if got := isBefore105(version); got != want {
			t.Errorf("%s: got %v", version, got)
		}
	}
}
