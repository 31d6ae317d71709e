package input

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/contract"
)

// TestEmail checks every row of the table in customers 5. In the expected messages, '@'
// stands for the host.
func TestEmail(t *testing.T) {
	const (
		form, length, host = `"Email" is not a valid email address.`, `"Email" exceeds the allowed length.`, `"Email" is not a valid hostname.`
		ip                 = "'@' appears to be an IP address, but IP addresses are not allowed"
		structure          = "'@' does not match the expected structure for a DNS hostname"
		unknown            = "'@' appears to be a DNS hostname but cannot match TLD against known list"
		noDomain           = "'@' appears to be a DNS hostname but cannot extract TLD part"
		dash               = "'@' appears to be a DNS hostname but contains a dash in an invalid position"
		schema             = "'@' appears to be a DNS hostname but cannot match against hostname schema for TLD '"
		local              = "'@' appears to be a local network name but local network names are not allowed"
		notLocal           = "'@' does not appear to be a valid local network name"
	)
	long := strings.Repeat("a", 63)
	tests := []struct {
		name, address string
		want          []string
	}{
		{"plain", "eve.poe+x@shop.example.com", nil},
		{"letter case", "Eve@Example.COM", nil},
		{"every character of an atom", "!#$%&'*+-/=?^_`{|}~0@x.com", nil},
		{"quoted", `"a b"@x.com`, nil},
		{"quoted, dots at the ends", `".a."@x.com`, nil},
		{"a country that only registers third-level domains", "a@x.ck", nil},
		{"non-Latin host", "a@müller.de", nil},
		{"non-Latin top-level domain", "a@пример.рф", nil},
		{"non-Latin top-level domain, encoded", "a@xn--e1afmkfd.xn--p1ai", nil},
		{"longest local part", strings.Repeat("a", 64) + "@x.com", nil},
		{"longest label", "a@" + long + ".com", nil},
		{"dashes inside", "a@a-b.c--d.com", nil},

		{"no at sign", "eve.example.com", []string{form}},
		{"empty", "@", []string{form}},
		{"no host", "a@", []string{form}},
		{"no local part", "@x.com", []string{form}},
		{"blank before the at", "e ve@x.com", []string{form}},
		{"two dots in the local part", "a..b@x.com", []string{form}},
		{"two dots in the host", "a@x..com", []string{form}},
		{"leading dot", ".a@x.com", []string{form}},
		{"dot before the at", "a.@x.com", []string{form}},
		{"accent before the at", "é@x.com", []string{form}},
		{"two at signs", "a@b@x.com", []string{form}},
		{"line break", "a\n@x.com", []string{form}},
		{"lone quotation mark", `"a@x.com`, []string{form}},
		{"the first of several broken rules", "a b@localhost", []string{form}},

		{"local part too long", strings.Repeat("a", 65) + "@x.com", []string{length}},
		{"host too long", "a@" + strings.Repeat("abc.", 63) + "comm", []string{length}},

		{"IPv4 address", "a@10.0.0.1", []string{host, ip}},
		{"IPv6 address", "a@::1", []string{host, ip}},
		{"no dot", "a@localhost", []string{host, structure, local}},
		{"too short", "a@b.c", []string{host, structure, local}},
		{"no dot, invalid character", "a@my_host", []string{host, structure, notLocal}},
		{"unknown top-level domain", "a@example.notatld", []string{host, unknown, local}},
		{"unknown top-level domain with an underscore", "a@x.c_m", []string{host, unknown, notLocal}},
		{"port", "a@x.com:80", []string{host, unknown, notLocal}},
		{"address in brackets", "a@[1.2.3.4]", []string{host, unknown, notLocal}},
		{"trailing blank", "a@x.com ", []string{host, unknown, notLocal}},
		{"last label of one character", "a@x.y.c", []string{host, noDomain, local}},
		{"numbers", "a@1.2.3", []string{host, noDomain, local}},
		{"trailing dot", "a@x.com.", []string{host, noDomain, local}},
		{"leading dash in a label", "a@-x.com", []string{host, dash, local}},
		{"trailing dash in a label", "a@x-.com", []string{host, dash, local}},
		{"dashes in positions 3 and 4", "a@ab--c.com", []string{host, dash, local}},
		{"dash and underscore", "a@-x_.com", []string{host, dash, notLocal}},
		{"label too long", "a@a" + long + ".com", []string{host, schema + "com'", local}},
		{"underscore", "a@x_y.com", []string{host, schema + "com'", notLocal}},
		{"blank inside", "a@x y.COM", []string{host, schema + "com'", notLocal}},
		{"unknown top-level domain and a dash", "a@a-.zz", []string{host, unknown, local}},
		{"trailing dash in the top-level domain", "a@x.com-", []string{host, unknown, local}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, fault := range checkEmail(contract.Documented(), "Email", tt.address) {
				if fault.Code != 400 || fault.Bare {
					t.Errorf("%+v", fault)
				}
				got = append(got, strings.Replace(fault.Message, "'"+tt.address[strings.LastIndexByte(tt.address, '@')+1:]+"'", "'@'", 1))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q: got %q, want %q", tt.address, got, tt.want)
			}
		})
	}
}

// TestEmailCrash checks the addresses on which the original crashes (customers 5).
func TestEmailCrash(t *testing.T) {
	for _, address := range []string{"a@a-.zz", "a@x.com-"} {
		faults := checkEmail(contract.Magento(), "Email", address)
		if !slices.ContainsFunc(faults, func(f contract.Fault) bool { return f.Bare && f.Code == 500 }) {
			t.Errorf("%s: %v", address, faults)
		}
	}
}

func FuzzEmail(f *testing.F) {
	for _, seed := range []string{"eve@example.com", `"a b"@x.com`, "a@10.0.0.1", "a@xn--e1afmkfd.xn--p1ai", "a@müller.de", "a@x..com", "a@[::1]", "@", "a@x.com\x00", "a@\xff.com", "é@-.zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		faults := checkEmail(contract.Documented(), "Email", address)
		for _, fault := range faults {
			// A message with a wrong argument has %! in it, and so has one that quotes it.
			malformed := strings.Contains(fault.Message, "%!") && !strings.Contains(address, "%!")
			if fault.Code != 400 || fault.Message == "" || malformed {
				t.Errorf("%q: %+v", address, fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		host := address[strings.LastIndexByte(address, '@')+1:]
		if !strings.Contains(host, ".") || !utf8.ValidString(address) || strings.ContainsAny(host, " \t\r\n_:[]\x00") {
			t.Errorf("%q is not a valid address", address)
		}
	})
}
