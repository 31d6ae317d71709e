package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/config/strictyaml"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind determines the syntax of a setting's value.
type Kind uint8

const (
	Text     Kind = iota // any text
	Bool                 // true or false
	Int                  // whole number from Min to Max
	Decimal              // up to eight digits, up to four places
	Size                 // bytes from Min to Max: 4096, 256KiB, 16MiB, 1GiB
	Duration             // from Min to Max, as time.ParseDuration reads it: 1m30s
	Choice               // one of Choices
	Address              // host:port to listen on; the host may be empty
	URL                  // absolute http or https URL, or empty
	Networks             // IP addresses and CIDR networks, comma separated or a YAML list
	TimeZone             // IANA name
	Choices              // one or more of Choices, or none if MayBeEmpty, comma separated or a YAML list
	Names                // texts, comma separated or a YAML list
	Key                  // 32 bytes as 64 hexadecimal digits, or empty
)

// parse returns the value of text. Its type depends on the kind: string for Text, Choice,
// Address, URL (without a trailing slash) and Decimal (with exactly four places); bool;
// int64 for Int and Size; time.Duration; []netip.Prefix; *time.Location; []string for
// Choices and Names; []byte for Key. Errors name the valid values and do not repeat the
// text.
func (s Setting) parse(text string) (any, error) {
	if s.Valid != nil {
		if err := s.Valid(text); err != nil {
			return nil, err
		}
	}
	switch s.Kind {
	case Bool:
		if text != "true" && text != "false" {
			return nil, errors.New("must be true or false")
		}
		return text == "true", nil
	case Int:
		return s.parseInt(text)
	case Decimal:
		return parseDecimal(text)
	case Size:
		return s.parseSize(text)
	case Duration:
		return s.parseDuration(text)
	case Choice:
		if !slices.Contains(s.Choices, text) {
			return nil, errors.New("must be one of " + strings.Join(s.Choices, ", "))
		}
		return text, nil
	case Address:
		return parseAddress(text)
	case URL:
		return parseURL(text)
	case Networks:
		return parseNetworks(text)
	case TimeZone:
		return parseTimeZone(text)
	case Choices:
		return s.parseChoices(text)
	case Names:
		return parseNames(text), nil
	case Key:
		return parseKey(text)
	default:
		return text, nil
	}
}

func (s Setting) parseChoices(text string) (any, error) {
	chosen := parseNames(text)
	unknown := slices.ContainsFunc(chosen, func(name string) bool { return !slices.Contains(s.Choices, name) })
	switch {
	case !unknown && (len(chosen) > 0 || s.MayBeEmpty):
		return chosen, nil
	case s.MayBeEmpty:
		return nil, errors.New("must be a list of " + strings.Join(s.Choices, ", ") + ", or []")
	default:
		return nil, errors.New("must be a list of " + strings.Join(s.Choices, ", ") + ", at least one")
	}
}

func parseNames(text string) []string {
	names := []string{}
	if strings.TrimSpace(text) == "" {
		return names
	}
	for name := range strings.SplitSeq(text, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

func (s Setting) parseInt(text string) (any, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < s.Min || n > s.Max {
		return nil, fmt.Errorf("must be a whole number from %d to %d", s.Min, s.Max)
	}
	return n, nil
}

func (s Setting) parseSize(text string) (any, error) {
	var size strictyaml.Size
	if err := size.UnmarshalText([]byte(text)); err == nil && int64(size) >= s.Min && int64(size) <= s.Max {
		return int64(size), nil
	}
	return nil, fmt.Errorf("must be a size from %s to %s, such as 4096, 256KiB or 16MiB", sizeText(s.Min), sizeText(s.Max))
}

// sizeText formats a size in the largest unit that divides it.
func sizeText(n int64) string {
	for _, unit := range []struct {
		size   int64
		suffix string
	}{{gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

func (s Setting) parseDuration(text string) (any, error) {
	d, err := time.ParseDuration(text)
	if err != nil || int64(d) < s.Min || int64(d) > s.Max {
		return nil, fmt.Errorf("must be a duration from %s to %s, such as 500ms, 10s or 1m30s", time.Duration(s.Min), time.Duration(s.Max))
	}
	return d, nil
}

var decimalPattern = regexp.MustCompile(`\A(-?[0-9]{1,8})(?:\.([0-9]{1,4}))?\z`)

// parseDecimal returns a decimal in canonical form, as adapters use it: four places, no
// leading zeros, no minus sign before zero.
func parseDecimal(text string) (any, error) {
	parts := decimalPattern.FindStringSubmatch(text)
	if parts == nil {
		return nil, errors.New("must be a decimal number such as 5 or 0.25, at most 8 digits and 4 places")
	}
	sign := ""
	digits, negative := strings.CutPrefix(parts[1], "-")
	digits = strings.TrimLeft(digits, "0")
	places := (parts[2] + "0000")[:4]
	if negative && (digits != "" || places != "0000") {
		sign = "-"
	}
	digits = cmp.Or(digits, "0")
	return sign + digits + "." + places, nil
}

var hostnamePattern = regexp.MustCompile(`\A[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?\z`)

func parseAddress(text string) (any, error) {
	host, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	_, ipErr := netip.ParseAddr(host)
	if err != nil || portErr != nil || (host != "" && ipErr != nil && !hostnamePattern.MatchString(host)) {
		return nil, errors.New("must be host:port such as 127.0.0.1:8080, [::1]:8080 or :8080")
	}
	return text, nil
}

func parseURL(text string) (any, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || strings.ContainsAny(text, "?#") {
		return nil, errors.New("must be an http or https URL such as https://shop.example.com, without user, query and fragment, or empty")
	}
	return strings.TrimRight(text, "/"), nil
}

func parseNetworks(text string) (any, error) {
	networks := []netip.Prefix{}
	if strings.TrimSpace(text) == "" {
		return networks, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		network, err := parseNetwork(strings.TrimSpace(part))
		if err != nil {
			return nil, errors.New("must be IP addresses and CIDR networks such as 10.0.0.0/8, ::1")
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// parseNetwork parses a CIDR network, or an address as the network of that address only.
func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		network, err := netip.ParsePrefix(text)
		return network.Masked(), err
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if ip.Zone() != "" {
		return netip.Prefix{}, errors.New("a network has no zone")
	}
	ip = ip.Unmap()
	return ip.Prefix(ip.BitLen())
}

func parseTimeZone(text string) (any, error) {
	location, err := time.LoadLocation(text)
	// With the machine's local zone, replies would depend on the machine.
	if err != nil || text == "" || text == "Local" {
		return nil, errors.New("must be the IANA name of a time zone, such as UTC or Europe/Berlin")
	}
	return location, nil
}

func parseKey(text string) (any, error) {
	key, err := hex.DecodeString(text)
	if err != nil || (len(key) != 32 && len(key) != 0) {
		return nil, errors.New("must be 64 hexadecimal digits, or empty")
	}
	return key, nil
}
