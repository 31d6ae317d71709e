package contracttests

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// validBaseURLs ends the errors of [ParseBaseURL].
const validBaseURLs = "give http(s)://host[:port][/path], such as https://shop.example/index.php"

// ParseBaseURL returns the base URL that a person means by text, in the form that
// [Target] takes. It removes a trailing slash or /api/rest, and adds the scheme if there
// is none: http for addresses of this machine and of private networks and for names
// without a dot, and https otherwise. Errors describe valid base URLs, and do not repeat
// text, which may contain a password.
func ParseBaseURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	scheme = strings.ToLower(scheme)
	switch {
	case scheme != "" && scheme != "http" && scheme != "https":
		return "", errors.New("the scheme must be http or https: " + validBaseURLs)
	case scheme == "" && (strings.HasPrefix(rest, "http:") || strings.HasPrefix(rest, "https:")):
		return "", errors.New("two slashes must follow http: or https: " + validBaseURLs)
	}
	u, err := url.Parse("//" + rest)
	if err != nil {
		return "", errors.New("it is not a URL: " + validBaseURLs) // err might contain a password
	}
	switch {
	case u.User != nil:
		return "", errors.New("it must not contain a user name or password, which belong in --credentials: " + validBaseURLs)
	case u.Hostname() == "":
		return "", errors.New("it has no host: " + validBaseURLs)
	case strings.Contains(rest, "?") || strings.Contains(rest, "#"):
		return "", fmt.Errorf("it must end before ? and #: give %s", withScheme(scheme, u.Hostname(), u.Host+strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), apiPath)))
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", errors.New("the port must be a number from 1 to 65535: " + validBaseURLs)
		}
	}
	path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), apiPath)
	base := withScheme(scheme, u.Hostname(), u.Host+strings.TrimRight(path, "/"))
	if _, err := parseServer(base, nil); err != nil {
		return "", err
	}
	return base, nil
}

// withScheme returns the URL of rest, which begins with host. An empty scheme is replaced
// by the one that servers of such a host usually have.
func withScheme(scheme, host, rest string) string {
	if scheme == "" {
		scheme = "https"
		if isLocalHost(host) {
			scheme = "http"
		}
	}
	return scheme + "://" + rest
}

// isLocalHost reports whether a host is on this machine or in a private network.
func isLocalHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") || strings.HasSuffix(name, ".internal")
}
