package contracttests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxProbeTimeout = 7 * time.Second         // for the two concurrent requests
	confirmTimeout  = 1500 * time.Millisecond // for the request that confirms a suspicion
)

// Probe checks with a few reads whether the suite can run against target. Its error is
// one sentence that describes the server and gives advice. Probe takes less than ten
// seconds, and less if target.Timeout is shorter.
//
// It returns an error only if more than one reply supports it, so that an implementation
// with a single wrong reply is tested instead of refused.
func Probe(ctx context.Context, target Target) error {
	p, err := newSession(target)
	if err != nil {
		return err
	}
	return p.probeTarget(ctx)
}

// probeTarget implements [Probe].
func (p *session) probeTarget(ctx context.Context) error {
	guest := Step{As: Guest, Method: http.MethodGet, Path: "/products?limit=1", Accept: new("application/xml")}
	admin := Step{As: Admin, Method: http.MethodGet, Path: "/customers?limit=1", Accept: new("application/json")}
	var probes [2]probe
	probeCtx, cancel := context.WithTimeout(ctx, p.probeTimeout())
	defer cancel()
	var pending sync.WaitGroup
	for i, s := range []Step{guest, admin} {
		pending.Go(func() { probes[i] = p.sendProbe(probeCtx, s) })
	}
	pending.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !probes[0].usable && !probes[1].usable {
		return errors.New(p.target.Credentials.Redact(p.describeUnusable(probes[:])))
	}
	if err := p.checkDialect(ctx, &probes[0]); err != nil {
		return err
	}
	return p.checkCredentials(ctx, &probes[1])
}

// probeTimeout returns how long the target may take to answer the two requests.
func (p *session) probeTimeout() time.Duration {
	if t := p.target.Timeout; t > 0 {
		return min(t, maxProbeTimeout)
	}
	return maxProbeTimeout
}

// A probe is one request, and its evidence about the target.
type probe struct {
	url     string
	reply   *reply
	err     error  // why there is no reply
	body    node   // of a usable reply
	usable  bool   // the reply has the form of a reply of the contract
	message string // of the first entry of an error envelope, or ""
}

// sendProbe makes the request of s and evaluates the reply.
func (p *session) sendProbe(ctx context.Context, s Step) probe {
	r := newRequest(p.server, p.target.Credentials, &s)
	got := probe{url: p.server.origin() + r.target}
	if got.reply, got.err = p.server.roundTrip(ctx, &r); got.err == nil {
		got.parseReply()
	}
	return got
}

// parseReply sets body, message and usable. It detects the format from the body, because
// the media type may be one of the errors that the suite is to find.
func (p *probe) parseReply() {
	body := strings.TrimSpace(p.reply.body)
	var err error
	if strings.HasPrefix(body, "<") {
		p.body, err = parseXML(body)
	} else {
		p.body, err = parseJSON(body)
	}
	if err != nil || p.isHTML() {
		return
	}
	content := &p.body
	if strings.HasPrefix(body, "<") && len(content.members) == 1 {
		content = &content.members[0].value
	}
	p.message = firstErrorMessage(content)
	success := p.reply.status >= 200 && p.reply.status < 300 && (content.kind == list || content.kind == record || content.kind == null)
	p.usable = p.reply.status < 500 && (success || p.message != "")
}

// firstErrorMessage returns the message of the first entry of an error envelope, or "" if
// n is not an envelope.
func firstErrorMessage(n *node) string {
	for _, name := range []string{"messages", "error", "", "message"} { // "" is the first entry
		at := slices.IndexFunc(n.members, func(m member) bool { return name == "" || m.name == name })
		if at < 0 {
			return ""
		}
		n = &n.members[at].value
	}
	return n.text
}

// isHTML reports whether the reply is an HTML page.
func (p *probe) isHTML() bool {
	body := strings.ToLower(strings.TrimSpace(p.reply.body))
	return strings.HasPrefix(body, "<!doctype html") || strings.HasPrefix(body, "<html") ||
		strings.HasPrefix(normalizeMediaType(p.reply.header.Get("Content-Type")), "text/html") && strings.HasPrefix(body, "<") && !strings.HasPrefix(body, "<?xml")
}

// describeUnusable returns the sentence for a target where neither probe got a reply of
// the contract.
func (p *session) describeUnusable(probes []probe) string {
	errored := 0
	for i := range probes {
		if probes[i].err == nil && probes[i].reply.status >= 500 {
			errored++
		}
	}
	first := &probes[0]
	switch {
	case first.err != nil:
		return p.describeNoReply(first)
	case errored == len(probes):
		return fmt.Sprintf("%s answers every request with %d: %s", p.server.baseURL(), first.reply.status, errorAdvice(first))
	case first.reply.status >= 300 && first.reply.status < 400:
		return fmt.Sprintf("%s answers %d and redirects to %s: %s", first.url, first.reply.status, quoteShort(first.reply.header.Get("Location")), p.redirectAdvice(first))
	case strings.Contains(first.reply.body, "HTTP request") && strings.Contains(first.reply.body, "HTTPS"):
		return fmt.Sprintf("%s speaks HTTPS: give --url https://%s", p.server.baseURL(), p.server.host+p.server.path)
	case first.isHTML():
		return fmt.Sprintf("%s answers %d with an HTML page%s instead of a reply of the contract: --url must be the address before /api/rest, including the path of a shop in a subdirectory, and there must be no login in front of it",
			first.url, first.reply.status, pageTitle(first.reply.body))
	}
	return fmt.Sprintf("%s answers %d with %s, which is not a reply of the contract: --url must be the address before /api/rest, including the path of a shop in a subdirectory",
		first.url, first.reply.status, quoteShort(first.reply.body))
}

// describeNoReply returns the sentence for a request that got no reply.
func (p *session) describeNoReply(first *probe) string {
	var (
		resolving *net.DNSError
		plain     tls.RecordHeaderError
		untrusted *tls.CertificateVerificationError
		invalid   x509.CertificateInvalidError
		timeout   net.Error
	)
	base, err := p.server.baseURL(), first.err
	switch {
	case errors.As(err, &resolving) && !resolving.IsTimeout:
		return fmt.Sprintf("the name %s of --url does not resolve to an address: check the spelling", quoteShort(resolving.Name))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens on %s: start the implementation, or correct --url", p.server.address)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("there is no route to %s: correct --url, or check the network", p.server.address)
	case errors.As(err, &plain):
		return fmt.Sprintf("%s does not speak TLS: give --url http://%s", p.server.address, p.server.host+p.server.path)
	case errors.As(err, &untrusted), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not trusted (%v): name its authority with --ca FILE, or skip the check with --insecure", p.server.address, quoteShort(err.Error()))
	case strings.Contains(err.Error(), "tls: "): // TLS alerts have no exported type
		return fmt.Sprintf("the TLS handshake with %s fails (%s): the suite needs TLS 1.2 or later, and sends no client certificate", p.server.address, quoteShort(err.Error()))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s hangs: it did not answer within %v; check what it waits for, or correct --url", first.url, p.probeTimeout())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Sprintf("%s closes the connection without a reply: check its log%s", base, p.tlsAdvice())
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Sprintf("the program that listens on %s does not speak HTTP: correct --url%s", p.server.address, p.tlsAdvice())
	}
	return fmt.Sprintf("%s cannot be called: %s", base, quoteShort(err.Error()))
}

// tlsAdvice returns the suffix of a sentence that suggests https, or "" if https was
// used.
func (p *session) tlsAdvice() string {
	if p.server.scheme == "http" {
		return ", or try https://" + p.server.host + p.server.path
	}
	return ""
}

// errorAdvice returns advice for a target that replies with server errors.
func errorAdvice(p *probe) string {
	switch {
	case p.message != "":
		return "it says " + quoteShort(p.message)
	case p.reply.status == http.StatusInternalServerError:
		return "check its log"
	}
	return "check whether the implementation behind that gateway runs"
}

// redirectAdvice returns advice for a target that redirects.
func (p *session) redirectAdvice(first *probe) string {
	location := first.reply.header.Get("Location")
	u, err := url.Parse(location)
	if err == nil && u.Host != "" && u.Scheme != "" {
		before, _, found := strings.Cut(u.EscapedPath(), apiPath)
		if base := u.Scheme + "://" + u.Host + before; found && base != p.server.baseURL() {
			return "give --url " + base
		}
	}
	if regexp.MustCompile(`(?i)log.?in|sign.?in|auth|sso`).MatchString(location) {
		return "exempt /api/rest from that login"
	}
	return "give the --url of the server itself"
}

// checkDialect returns an error if the target follows the original and its dialect is the document's, or
// the other way round. Both the XML root element and the default format for Accept: */* must show it. It
// accepts all dialects if the target states none.
func (p *session) checkDialect(ctx context.Context, guest *probe) error {
	roots := map[string]Dialect{"service_api": Documented, "magento_api": Magento}
	if !guest.usable || len(guest.body.members) != 1 || !strings.HasPrefix(strings.TrimSpace(guest.reply.body), "<") {
		return nil
	}
	spoken, known := roots[guest.body.members[0].name]
	if !known || p.target.Dialect == "" || spoken.rootElement() == p.target.Dialect.rootElement() {
		return nil
	}
	confirmCtx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	unspecified := p.sendProbe(confirmCtx, Step{As: Guest, Method: http.MethodGet, Path: "/products?limit=1", Accept: new("*/*")})
	if unspecified.err != nil || !unspecified.usable {
		return nil
	}
	// The default format of products is XML in the document and JSON in the original.
	if xml := strings.HasPrefix(strings.TrimSpace(unspecified.reply.body), "<"); xml != (spoken == Documented) {
		return nil
	}
	return fmt.Errorf("%s speaks the dialect %s (its root element is %s): give --dialect %s", p.server.baseURL(), spoken, guest.body.members[0].name, spoken)
}

// checkCredentials returns an error if the target refuses the Admin's credentials for two
// different resources.
func (p *session) checkCredentials(ctx context.Context, admin *probe) error {
	if !p.target.Credentials.Has(Admin) || !admin.isAuthRefusal() {
		return nil
	}
	confirmCtx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	again := p.sendProbe(confirmCtx, Step{As: Admin, Method: http.MethodGet, Path: "/stockitems?limit=1", Accept: new("application/json")})
	if again.err != nil || !again.isAuthRefusal() {
		return nil
	}
	return fmt.Errorf("%s refuses the credentials of the Admin, %d %s: give its own with --credentials FILE",
		p.server.baseURL(), admin.reply.status, p.target.Credentials.Redact(quoteShort(admin.errorText())))
}

// isAuthRefusal reports whether the reply has status 401 or 403.
func (p *probe) isAuthRefusal() bool {
	return p.err == nil && (p.reply.status == http.StatusUnauthorized || p.reply.status == http.StatusForbidden)
}

// errorText returns the first error message of the reply, or else its body.
func (p *probe) errorText() string {
	if p.message != "" {
		return p.message
	}
	return p.reply.body
}

// pageTitle returns the title of an HTML page in parentheses, or "" if it has none.
func pageTitle(page string) string {
	found := regexp.MustCompile(`(?is)<title[^>]*>(.{0,200}?)</title>`).FindStringSubmatch(page)
	if found == nil || strings.TrimSpace(found[1]) == "" {
		return ""
	}
	return " (" + quoteShort(strings.TrimSpace(found[1])) + ")"
}

// quoteShort quotes a text of the server, truncated to 120 bytes.
func quoteShort(s string) string {
	const shown = 120
	if len(s) > shown {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:shown], ""))
	}
	return fmt.Sprintf("%q", s)
}
