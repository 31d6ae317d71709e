package contracttests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// A Client sends the requests of exchanges to one server and returns its replies without
// comparing them. It keeps connections open for further reads. It is safe for concurrent use.
type Client struct {
	session     *session
	connections connections
}

// A Reply is a complete reply of a server. Its Location has no base path.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// NewClient returns a Client for the BaseURL, TLS, Credentials and Timeout of target; the
// other fields are ignored. It returns an error if BaseURL is not
// http(s)://host[:port][/path].
func NewClient(target Target) (*Client, error) {
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	target.Dialect = ""
	return &Client{session: &session{target: target, server: srv}}, nil
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.connections.close() }

// BaseURL returns the base URL of the server without a trailing slash.
func (c *Client) BaseURL() string { return c.session.server.baseURL() }

// Probe is like the function [Probe], but accepts either dialect. The advice in its
// errors names the flags --NAME and --NAME-credentials instead of --url and
// --credentials.
func (c *Client) Probe(ctx context.Context, name string) error {
	err := c.session.probeTarget(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errors.New(strings.NewReplacer("--url", "--"+name, "--credentials", "--"+name+"-credentials").Replace(err.Error()))
}

// Do signs and sends the request of a step, and returns the reply. It returns an error if
// no complete reply of at most 32 MiB arrives within Target.Timeout, or one minute if
// that is 0. The error contains no secrets.
func (c *Client) Do(ctx context.Context, s *Step) (*Reply, error) {
	ctx, cancel := c.session.withTimeout(ctx)
	defer cancel()
	got, err := c.connections.roundTrip(ctx, c.session.server, func() request {
		return newRequest(c.session.server, c.session.target.Credentials, s)
	})
	if err != nil {
		return nil, err
	}
	return &Reply{got.status, got.header, []byte(got.body)}, nil
}

// Curl returns a curl command that repeats the request of a step. It contains shell
// variables in place of the credentials.
func (c *Client) Curl(s *Step) string {
	r := newRequest(c.session.server, c.session.target.Credentials, s)
	return c.session.target.Credentials.Redact(curl(c.session.server, &r, ""))
}

// maxAuthorities limits the size of a file of certificates, in bytes. The file of an
// operating system has a quarter of a megabyte.
const maxAuthorities = 4 << 20

// Trust returns the TLS configuration for the flags --ca and --insecure, for use as
// [Target.TLS]. ca is the name of a PEM file with the certificate authorities to trust;
// insecure accepts any certificate. Trust returns nil if neither is set, and an error if
// both are.
func Trust(ca string, insecure bool) (*tls.Config, error) {
	switch {
	case insecure && ca != "":
		return nil, errors.New("--insecure accepts any certificate, so --ca has no effect: give one of the two")
	case insecure:
		return &tls.Config{InsecureSkipVerify: true}, nil // #nosec G402 -- asked for by name
	case ca == "":
		return nil, nil
	}
	file, err := os.Open(ca)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	pem, err := io.ReadAll(io.LimitReader(file, maxAuthorities))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca: %s holds no certificate in PEM", ca)
	}
	return &tls.Config{RootCAs: pool}, nil
}

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

// SignRequest returns the header lines, such as "Authorization: OAuth …", that authenticate one
// request as the caller named as. The URL is as in the request line, in the same encoding; form
// is the body if its media type is application/x-www-form-urlencoded, and "" otherwise. A
// signature is good for one request.
func (c Credentials) SignRequest(as, method, url, form string) ([]string, error) {
	if !c.token(as).isSet() {
		return nil, errors.New("there are no credentials for " + strconv.Quote(as) + ": give one of " + Admin + ", " + Customer1 + " and " + Customer2 + " that has some")
	}
	scheme, rest, ok := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	if !ok || scheme != "http" && scheme != "https" || host == "" {
		return nil, errors.New("the URL must be that of the request, such as https://shop.example/api/rest/products")
	}
	r := request{method: method, target: "/" + path, host: host}
	if form != "" {
		r.body = &form
		r.headers = []header{{"Content-Type", "application/x-www-form-urlencoded"}}
	}
	var lines []string
	for _, h := range c.headers(as, server{scheme: scheme, host: host}, &r) {
		lines = append(lines, h.name+": "+h.value)
	}
	return lines, nil
}

// signedURL returns the URL of a request for [Credentials.SignRequest].
func signedURL(srv server, r *request) string {
	target := r.target
	if isAbsolute(target) {
		_, target, _ = strings.Cut(target, "://")
		_, path, _ := strings.Cut(target, "/")
		target = "/" + path
	}
	return srv.scheme + "://" + r.host + target
}
