package config

import (
	"fmt"
	"testing"
)

func TestParse(t *testing.T) {
	setting := map[Kind]Setting{
		Text:     {Valid: matchPattern(`[a-z]*`, "must be letters")},
		Bool:     {Kind: Bool},
		Int:      {Kind: Int, Min: -3, Max: 1000},
		Decimal:  {Kind: Decimal},
		Size:     {Kind: Size, Min: 10, Max: 2 * gib},
		Duration: {Kind: Duration, Min: 1e6, Max: 3600e9},
		Choice:   {Kind: Choice, Choices: []string{"a", "b"}},
		Address:  {Kind: Address},
		URL:      {Kind: URL},
		Networks: {Kind: Networks},
		TimeZone: {Kind: TimeZone},
		Key:      {Kind: Key},
	}
	const refused = "refused"
	tests := []struct {
		name string
		kind Kind
		text string
		want string // the value as fmt prints it
	}{
		{"text", Text, "abc", "abc"},
		{"text refused by its check", Text, "abc\n", refused},
		{"bool true", Bool, "true", "true"},
		{"bool false", Bool, "false", "false"},
		{"bool in another spelling", Bool, "TRUE", refused},
		{"int least", Int, "-3", "-3"},
		{"int greatest", Int, "1000", "1000"},
		{"int too small", Int, "-4", refused},
		{"int too great", Int, "1001", refused},
		{"int out of 64 bit", Int, "99999999999999999999", refused},
		{"int with blank", Int, " 1", refused},
		{"int with fraction", Int, "1.0", refused},
		{"decimal whole", Decimal, "12", "12.0000"},
		{"decimal of zeros", Decimal, "000", "0.0000"},
		{"decimal negative zero", Decimal, "-0.0", "0.0000"},
		{"decimal negative fraction", Decimal, "-0.25", "-0.2500"},
		{"decimal greatest", Decimal, "99999999.9999", "99999999.9999"},
		{"decimal too long", Decimal, "100000000", refused},
		{"decimal five places", Decimal, "0.00001", refused},
		{"decimal without digits before the point", Decimal, ".5", refused},
		{"decimal without digits after the point", Decimal, "5.", refused},
		{"decimal with exponent", Decimal, "1e3", refused},
		{"size in bytes", Size, "10", "10"},
		{"size in KiB", Size, "3KiB", "3072"},
		{"size in MiB", Size, "1MiB", "1048576"},
		{"size in GiB", Size, "2GiB", "2147483648"},
		{"size too small", Size, "9", refused},
		{"size too great", Size, "3GiB", refused},
		{"size beyond 64 bit", Size, "18446744073709551615GiB", refused},
		{"size of a unit alone", Size, "KiB", refused},
		{"size in a decimal unit", Size, "1MB", refused},
		{"size negative", Size, "-1", refused},
		{"duration", Duration, "1m30s", "1m30s"},
		{"duration without unit", Duration, "5", refused},
		{"duration too short", Duration, "1us", refused},
		{"duration too long", Duration, "2h", refused},
		{"choice", Choice, "b", "b"},
		{"choice in another case", Choice, "B", refused},
		{"address", Address, "127.0.0.1:80", "127.0.0.1:80"},
		{"address of IPv6", Address, "[::1]:80", "[::1]:80"},
		{"address of every interface", Address, ":80", ":80"},
		{"address with a name", Address, "shop-1.example:80", "shop-1.example:80"},
		{"address with a free port", Address, "localhost:0", "localhost:0"},
		{"address without port", Address, "localhost", refused},
		{"address with a named port", Address, "localhost:http", refused},
		{"address with too great a port", Address, ":65536", refused},
		{"address with a bad host", Address, "a b:80", refused},
		{"URL empty", URL, "", ""},
		{"URL", URL, "https://shop.example.com", "https://shop.example.com"},
		{"URL with port, path and slashes", URL, "http://a:81/b//", "http://a:81/b"},
		{"URL of another scheme", URL, "ftp://a", refused},
		{"URL without host", URL, "http://:80", refused},
		{"URL relative", URL, "/a", refused},
		{"URL with user", URL, "http://u:p@a", refused},
		{"URL with query", URL, "http://a?", refused},
		{"URL with fragment", URL, "http://a#", refused},
		{"networks none", Networks, " ", "[]"},
		{"networks", Networks, "10.1.2.3/8, ::1", "[10.0.0.0/8 ::1/128]"},
		{"networks with IPv4 in IPv6", Networks, "::ffff:1.2.3.4", "[1.2.3.4/32]"},
		{"networks with an empty entry", Networks, "::1,", refused},
		{"networks with a zone", Networks, "fe80::1%eth0", refused},
		{"networks with a zone and length", Networks, "fe80::1%eth0/64", refused},
		{"networks with too great a length", Networks, "10.0.0.0/33", refused},
		{"networks with a name", Networks, "localhost", refused},
		{"time zone", TimeZone, "Europe/Berlin", "Europe/Berlin"},
		{"time zone unknown", TimeZone, "Mars/Olympus", refused},
		{"time zone empty", TimeZone, "", refused},
		{"time zone of the machine", TimeZone, "Local", refused},
		{"time zone outside the data base", TimeZone, "../../etc/passwd", refused},
		{"key empty", Key, "", "[]"},
		{"key too short", Key, "00ff", refused},
		{"key of other digits", Key, "zz", refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, err := setting[tt.kind].parse(tt.text)
			got := fmt.Sprint(value)
			if err != nil {
				got = refused
			}
			if got != tt.want {
				t.Errorf("%q: %s (%v), want %s", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	tests := map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "example.com:1": false, "": false,
	}
	for address, want := range tests {
		t.Run(address, func(t *testing.T) {
			if got := Loopback(address); got != want {
				t.Errorf("loopback is %v", got)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{"same", "10.0.0.1:80", "10.0.0.1:80", true},
		{"port in another spelling", "10.0.0.1:80", "10.0.0.1:080", true},
		{"every interface and one", ":80", "127.0.0.1:80", true},
		{"one and every interface", "127.0.0.1:80", "0.0.0.0:80", true},
		{"two interfaces", "10.0.0.1:80", "127.0.0.1:80", false},
		{"two ports", ":80", ":81", false},
		{"free ports", ":0", ":0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := overlap(tt.a, tt.b); got != tt.want {
				t.Errorf("overlap is %v", got)
			}
		})
	}
}
