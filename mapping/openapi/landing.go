package openapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	styleSheet string
)

// LandingOptions are the settings of a [Page].
type LandingOptions struct {
	ShopName  string // "" means the host of the base URL
	PublicURL string // base URL of the shop; "" means the base URL of each request
	Dialect   string // name of the dialect
}

// A LandingDemo holds the links and the examples on the page of a demo store.
type LandingDemo struct {
	Console  string // URL of the operators' console; "" if there is none
	Examples []LandingExample
}

// A LandingTopic is another page of a demo store.
type LandingTopic struct {
	Path, Title string
	// Content returns the page below its title. It may be called concurrently.
	Content func() (template.HTML, error)
}

// A LandingExample is a list of commands for a shell.
type LandingExample struct {
	Title    string
	Commands string // lines, each with a line feed
}

// A LandingPage is the landing page. It is safe for concurrent use.
type LandingPage struct {
	LandingOptions
	template *template.Template
	policy   string
	plain    *regexp.Regexp
	shown    *landingDemo
}

// A landingDemo is the part of the page that a demo store has, which is known when it listens.
type landingDemo struct {
	mu     sync.Mutex
	demo   func(base string) LandingDemo // nil for a store that is no demo
	topics []LandingTopic                // more pages
}

// NewLandingPage returns a Page.
func NewLandingPage(o LandingOptions) (*LandingPage, error) {
	t, err := template.New("page").Parse(pageTemplate)
	style := sha256.Sum256([]byte(styleSheet))
	return &LandingPage{
		LandingOptions: o, template: t, shown: new(landingDemo), plain: regexp.MustCompile(`\A[A-Za-z0-9.\-]+(?::[0-9]+)?\z|\A\[[0-9A-Fa-f:.]+\](?::[0-9]+)?\z`),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, err
}

// WithShopName returns a page that shows another name of the shop, and shares the demo with p.
func (p *LandingPage) WithShopName(name string) *LandingPage {
	next := *p
	next.ShopName = name
	return &next
}

// SetDemo makes the page show the Demo that demo returns for the base URL that a visitor uses,
// and links to topics, which get pages of their own.
func (p *LandingPage) SetDemo(demo func(base string) LandingDemo, topics ...LandingTopic) {
	p.shown.mu.Lock()
	defer p.shown.mu.Unlock()
	p.shown.demo, p.shown.topics = demo, topics
}

// topic returns the topic with a path, or nil.
func (p *LandingPage) topic(path string) *LandingTopic {
	p.shown.mu.Lock()
	defer p.shown.mu.Unlock()
	for i := range p.shown.topics {
		if p.shown.topics[i].Path == path {
			return &p.shown.topics[i]
		}
	}
	return nil
}

// Wanted reports whether r is a browser's request for the page or for a topic. A Host that is
// neither a plain name nor an address cannot stand in the commands of the page, and gets none.
func (p *LandingPage) Wanted(r *http.Request) bool {
	return (r.URL.Path == "/" || p.topic(r.URL.Path) != nil) && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		p.plain.MatchString(r.Host) && prefersHTML(r.Header.Get("Accept"))
}

// maxAccept is the maximum length in bytes of an Accept header that is read.
const maxAccept = 1 << 10

// prefersHTML reports whether text/html is the first of the types that accept prefers.
func prefersHTML(accept string) bool {
	if len(accept) > maxAccept {
		return false
	}
	best, html := 0.0, false
	for part := range strings.SplitSeq(accept, ",") {
		mediaType, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		for parameter := range strings.SplitSeq(parameters, ";") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
				quality, _ = strconv.ParseFloat(text, 64)
			}
		}
		if quality > best {
			best, html = quality, strings.EqualFold(strings.TrimSpace(mediaType), "text/html")
		}
	}
	return html
}

// pageData is the input of the template.
type pageData struct {
	Style               template.CSS
	Shop, Dialect, Base string
	Demo                LandingDemo
	Topics              []LandingTopic
	// Topic is the topic that is shown in place of everything else, with its content.
	Topic   *LandingTopic
	Content template.HTML
}

// Serve answers a request that wants the page, of a client that used scheme. An error means
// that nothing has been written.
func (p *LandingPage) Serve(w http.ResponseWriter, r *http.Request, scheme string) error {
	base := cmp.Or(strings.TrimRight(p.PublicURL, "/"), scheme+"://"+r.Host)
	data := pageData{Style: template.CSS(styleSheet), Shop: p.ShopName, Dialect: p.Dialect, Base: base} // #nosec G203 -- a constant
	if u, err := url.Parse(base); err == nil && data.Shop == "" {
		data.Shop = u.Hostname()
	}
	p.shown.mu.Lock()
	demo := p.shown.demo
	data.Topics = p.shown.topics
	p.shown.mu.Unlock()
	if data.Topic = p.topic(r.URL.Path); data.Topic != nil {
		var err error
		if data.Content, err = data.Topic.Content(); err != nil {
			return fmt.Errorf("landing: %w", err)
		}
	} else if demo != nil {
		data.Demo = demo(base)
	}
	var body bytes.Buffer
	if err := p.template.Execute(&body, data); err != nil {
		return fmt.Errorf("landing: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	header.Set("Content-Security-Policy", p.policy)
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body.Bytes()) // fails only if the client has disconnected
	return nil
}
