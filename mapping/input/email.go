package input

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/portico-commerce/portico/mapping/contract"
)

// The limits of an e-mail address, in characters (customers 5).
const (
	maxLocalPart = 64
	maxHost      = 255
	minHost      = 4
	minTLD       = 2 // of the last label
	maxLabel     = 63
)

// checkEmail returns the faults of the first rule that an e-mail address breaks
// (customers 5); label names the field.
func checkEmail(d *contract.Dialect, label, address string) contract.Faults {
	if d.LooseEmails && looseEmail.MatchString(address) {
		return nil
	}
	at := strings.LastIndexByte(address, '@')
	if d.LooseEmails || at < 0 || at == len(address)-1 || strings.Contains(address, "..") || !isLocalPart(address[:at]) {
		return contract.Faults{d.Fault(contract.EmailForm, label)}
	}
	host := address[at+1:]
	if utf8.RuneCountInString(address[:at]) > maxLocalPart || utf8.RuneCountInString(host) > maxHost {
		return contract.Faults{d.Fault(contract.EmailLength, label)}
	}
	key := checkHost(host)
	if key == validHost {
		return nil
	}
	args := []any{host}
	if key == contract.HostSchema {
		args = append(args, strings.ToLower(host[strings.LastIndexByte(host, '.')+1:]))
	}
	faults := contract.Faults{d.Fault(contract.EmailHost, label), d.Fault(key, args...)}
	if key == contract.HostIsAddress {
		return faults
	}
	if strings.ContainsFunc(host, isInvalidLocalNameRune) {
		return append(faults, d.Fault(contract.HostIsNotLocal, host))
	}
	return append(faults, d.Fault(contract.HostIsLocal, host))
}

// looseEmail matches an address in the dialects with [contract.Dialect.LooseEmails] (openmage 6).
var looseEmail = regexp.MustCompile(`^[^\n]+@[^\t-\r ]+\.[^\t-\r ]+$`)

// A local part is ASCII: words separated by dots, or a quoted string.
var (
	dotAtom      = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")
	quotedString = regexp.MustCompile(`^"[\x01-\x09\x0b\x0c\x0e-\x21\x23-\x5b\x5d-\x7f]*"$`)
)

func isLocalPart(s string) bool { return dotAtom.MatchString(s) || quotedString.MatchString(s) }

// validHost is the result of checkHost for a valid host.
const validHost = contract.FaultKey(0)

// checkHost returns the fault of the first rule that a host name breaks.
func checkHost(host string) contract.FaultKey {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	dash := false
	for _, label := range labels {
		dash = dash || hasMisplacedDash(label)
	}
	switch {
	case isIPAddress(host):
		return contract.HostIsAddress
	case len(labels) < 2 || utf8.RuneCountInString(host) < minHost:
		return contract.HostStructure
	case utf8.RuneCountInString(last) < minTLD:
		return contract.HostDomainMissing
	case !isTopLevelDomain(last) && dash:
		return contract.HostDashCrash
	case !isTopLevelDomain(last):
		return contract.HostDomainUnknown
	case dash:
		return contract.HostDash
	}
	for _, label := range labels {
		if n := utf8.RuneCountInString(label); n == 0 || n > maxLabel || strings.ContainsFunc(label, isInvalidHostRune) {
			return contract.HostSchema
		}
	}
	return validHost
}

func isIPAddress(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() == ""
}

// hasMisplacedDash reports whether a dash is where none may be. Two dashes in positions 3
// and 4 are reserved for encoded names, which begin with xn.
func hasMisplacedDash(label string) bool {
	return strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
		len(label) >= 4 && label[2:4] == "--" && !strings.EqualFold(label[:2], "xn")
}

// isTopLevelDomain reports whether label is a registered top-level domain. publicsuffix
// knows the suffixes below each of them, some only through a wildcard, so the function
// looks up a name below label.
func isTopLevelDomain(label string) bool {
	ascii, err := idna.Lookup.ToASCII(label)
	if err != nil {
		return false
	}
	_, known := publicsuffix.PublicSuffix("portico." + ascii)
	return known
}

// isInvalidHostRune allows letters and digits of all alphabets, and dashes.
func isInvalidHostRune(r rune) bool {
	return r != '-' && (r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.M, unicode.Nd))
}

// isInvalidLocalNameRune allows only ASCII, as in the name of a machine in a local
// network.
func isInvalidLocalNameRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '.':
		return false
	default:
		return true
	}
}
