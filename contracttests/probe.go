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
	probeTimeout = 7 * time.Second         // for the calls that are made at once
	doubtTimeout = 1500 * time.Millisecond // for a call that settles a doubt
)

// Probe finds out by a few reads whether a target can be tested at all. Its error is
// one sentence: what is there instead, and what to do. It takes less than ten
// seconds.
//
// What is there is told by more than one answer, so that an implementation that gives
// one wrong answer is tested, not refused.
func Probe(ctx context.Context, target Target) error {
	p, err := newPlayer(target)
	if err != nil {
		return err
	}
	return p.look(ctx)
}

// look is Probe of the player's target.
func (p *player) look(ctx context.Context) error {
	guest := Step{As: Guest, Method: http.MethodGet, Path: "/products?limit=1", Accept: new("application/xml")}
	admin := Step{As: Admin, Method: http.MethodGet, Path: "/customers?limit=1", Accept: new("application/json")}
	var probes [2]probe
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for i, s := range []Step{guest, admin} {
		asked.Go(func() { probes[i] = p.probe(within, s) })
	}
	asked.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !probes[0].usable && !probes[1].usable {
		return errors.New(p.target.Credentials.Redact(p.unusable(probes[:])))
	}
	if err := p.otherDialect(ctx, &probes[0]); err != nil {
		return err
	}
	return p.refused(ctx, &probes[1])
}

// A probe is one call, and what it tells.
type probe struct {
	url     string
	reply   *reply
	err     error  // why there is no reply
	body    node   // of a usable reply
	usable  bool   // an answer as the contract has them
	message string // the first of the envelope of errors
}

func (p *player) probe(ctx context.Context, s Step) probe {
	r := newRequest(p.server, p.target.Credentials, &s)
	got := probe{url: p.server.origin() + r.target}
	if got.reply, got.err = p.server.send(ctx, &r); got.err == nil {
		got.read()
	}
	return got
}

// read finds out whether the reply is an answer of the contract, by its body: the
// media type may be one of the faults to be found.
func (p *probe) read() {
	body := strings.TrimSpace(p.reply.body)
	var err error
	if strings.HasPrefix(body, "<") {
		p.body, err = parseXML(body)
	} else {
		p.body, err = parseJSON(body)
	}
	if err != nil || p.html() {
		return
	}
	content := &p.body
	if strings.HasPrefix(body, "<") && len(content.members) == 1 {
		content = &content.members[0].value
	}
	p.message = firstMessage(content)
	success := p.reply.status >= 200 && p.reply.status < 300 && (content.kind == list || content.kind == record || content.kind == null)
	p.usable = p.reply.status < 500 && (success || p.message != "")
}

// firstMessage returns the first message of an envelope of errors, or "".
func firstMessage(n *node) string {
	for _, name := range []string{"messages", "error", "", "message"} { // "" is the first entry
		at := slices.IndexFunc(n.members, func(m member) bool { return name == "" || m.name == name })
		if at < 0 {
			return ""
		}
		n = &n.members[at].value
	}
	return n.text
}

func (p *probe) html() bool {
	body := strings.ToLower(strings.TrimSpace(p.reply.body))
	return strings.HasPrefix(body, "<!doctype html") || strings.HasPrefix(body, "<html") ||
		strings.HasPrefix(foldMedia(p.reply.header.Get("Content-Type")), "text/html") && strings.HasPrefix(body, "<") && !strings.HasPrefix(body, "<?xml")
}

// unusable says what stands where the implementation should.
func (p *player) unusable(probes []probe) string {
	errored := 0
	for i := range probes {
		if probes[i].err == nil && probes[i].reply.status >= 500 {
			errored++
		}
	}
	first := &probes[0]
	switch {
	case first.err != nil:
		return p.noReply(first)
	case errored == len(probes):
		return fmt.Sprintf("%s answers %d to everything: %s", p.server.baseURL(), first.reply.status, errorAdvice(first))
	case first.reply.status >= 300 && first.reply.status < 400:
		return fmt.Sprintf("%s answers %d and redirects to %s: %s", first.url, first.reply.status, short(first.reply.header.Get("Location")), p.redirectAdvice(first))
	case strings.Contains(first.reply.body, "HTTP request") && strings.Contains(first.reply.body, "HTTPS"):
		return fmt.Sprintf("%s speaks HTTPS: give --url https://%s", p.server.baseURL(), p.server.host+p.server.path)
	case first.html():
		return fmt.Sprintf("%s answers %d with a page in HTML%s, not as the contract has it: --url is what stands before /api/rest, with the path of a shop in a subdirectory and without a login in front of it",
			first.url, first.reply.status, title(first.reply.body))
	}
	return fmt.Sprintf("%s answers %d with %s, which is no answer of the contract: --url is what stands before /api/rest, with the path of a shop in a subdirectory",
		first.url, first.reply.status, short(first.reply.body))
}

// noReply says why a call was not answered.
func (p *player) noReply(first *probe) string {
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
		return fmt.Sprintf("the name %s of --url does not resolve to an address: look whether it is spelled right", short(resolving.Name))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens on %s: start the implementation, or correct --url", p.server.address)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("there is no way to %s from here: correct --url, or the network", p.server.address)
	case errors.As(err, &plain):
		return fmt.Sprintf("%s does not speak TLS: give --url http://%s", p.server.address, p.server.host+p.server.path)
	case errors.As(err, &untrusted), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not trusted (%v): name its authority with --ca FILE, or look away with --insecure", p.server.address, short(err.Error()))
	case strings.Contains(err.Error(), "tls: "): // the alerts of the other side have no type of their own
		return fmt.Sprintf("%s and the suite find no way to speak TLS (%s): it takes TLS 1.2 or later and no client certificate", p.server.address, short(err.Error()))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s hangs: it did not answer within %v; look what it waits for, or correct --url", first.url, probeTimeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Sprintf("%s closes the connection without an answer: look into its log%s", base, p.tlsAdvice())
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Sprintf("what listens on %s does not speak HTTP: correct --url%s", p.server.address, p.tlsAdvice())
	}
	return fmt.Sprintf("%s cannot be called: %s", base, short(err.Error()))
}

func (p *player) tlsAdvice() string {
	if p.server.scheme == "http" {
		return ", or try https://" + p.server.host + p.server.path
	}
	return ""
}

func errorAdvice(p *probe) string {
	switch {
	case p.message != "":
		return "it says " + short(p.message)
	case p.reply.status == http.StatusInternalServerError:
		return "look into its log"
	}
	return "look whether it runs behind what answers"
}

func (p *player) redirectAdvice(first *probe) string {
	location := first.reply.header.Get("Location")
	u, err := url.Parse(location)
	if err == nil && u.Host != "" && u.Scheme != "" {
		before, _, found := strings.Cut(u.EscapedPath(), apiPath)
		if base := u.Scheme + "://" + u.Host + before; found && base != p.server.baseURL() {
			return "give --url " + base
		}
	}
	if regexp.MustCompile(`(?i)log.?in|sign.?in|auth|sso`).MatchString(location) {
		return "let calls of /api/rest through without that login"
	}
	return "give the --url that answers itself"
}

// otherDialect says so if the target is an implementation of the dialect that was not
// asked for, by two signs: the root element, and what */* gets. To an [Asker] either
// is right.
func (p *player) otherDialect(ctx context.Context, guest *probe) error {
	roots := map[string]Dialect{"service_api": Documented, "magento_api": Magento}
	if !guest.usable || len(guest.body.members) != 1 || !strings.HasPrefix(strings.TrimSpace(guest.reply.body), "<") {
		return nil
	}
	is, known := roots[guest.body.members[0].name]
	if !known || is == p.target.Dialect || p.target.Dialect == "" {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, doubtTimeout)
	defer cancel()
	any := p.probe(within, Step{As: Guest, Method: http.MethodGet, Path: "/products?limit=1", Accept: new("*/*")})
	if any.err != nil || !any.usable {
		return nil
	}
	// The document's default for products is XML, the original's JSON.
	if xml := strings.HasPrefix(strings.TrimSpace(any.reply.body), "<"); xml != (is == Documented) {
		return nil
	}
	return fmt.Errorf("%s speaks the dialect %s (its root element is %s): give --dialect %s", p.server.baseURL(), is, guest.body.members[0].name, is)
}

// refused says so if the Admin's credentials are, which takes two refusals.
func (p *player) refused(ctx context.Context, admin *probe) error {
	if !p.target.Credentials.Has(Admin) || !admin.refused() {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, doubtTimeout)
	defer cancel()
	again := p.probe(within, Step{As: Admin, Method: http.MethodGet, Path: "/stockitems?limit=1", Accept: new("application/json")})
	if again.err != nil || !again.refused() {
		return nil
	}
	return fmt.Errorf("%s refuses the credentials of the Admin, %d %s: give its own with --credentials FILE",
		p.server.baseURL(), admin.reply.status, p.target.Credentials.Redact(short(admin.said())))
}

func (p *probe) refused() bool {
	return p.err == nil && (p.reply.status == http.StatusUnauthorized || p.reply.status == http.StatusForbidden)
}

func (p *probe) said() string {
	if p.message != "" {
		return p.message
	}
	return p.reply.body
}

// title returns what an HTML page calls itself.
func title(page string) string {
	found := regexp.MustCompile(`(?is)<title[^>]*>(.{0,200}?)</title>`).FindStringSubmatch(page)
	if found == nil || strings.TrimSpace(found[1]) == "" {
		return ""
	}
	return " (" + short(strings.TrimSpace(found[1])) + ")"
}

// short quotes the beginning of a text that somebody else wrote.
func short(s string) string {
	const shown = 120
	if len(s) > shown {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:shown], ""))
	}
	return fmt.Sprintf("%q", s)
}
