package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// redisTimeout limits each round trip to Redis. It is longer than cache.timeout, whose effect
// the metrics show.
const redisTimeout = 5 * time.Second

// checkRedis checks that Redis answers, its eviction policy, and its clock.
func (e *examination) checkRedis(ctx context.Context) []Finding {
	address := e.cfg.Cache.RedisURL
	if address == "" {
		return notUsed("cache.redis_url is not set")
	}
	const advice = "Set cache.redis_url to the Redis that the replicas share, with its password."
	cache.LogRedis(e.log())
	client, err := cache.Dial(address, redisTimeout)
	if err != nil {
		return one(failed("", err.Error(), advice))
	}
	defer func() { _ = client.Close() }()
	sent := time.Now()
	at, err := client.Time(ctx).Result()
	if err != nil {
		return one(failed("", errorText(err), advice+" Until it answers, Portico works without it."))
	}
	roundTrip := time.Since(sent)
	findings := redisFindings(ctx, client, cache.Location(address))
	return append(findings, clockFinding("Redis clock", at.Sub(sent.Add(roundTrip/2)), roundTrip/2))
}

// redisFindings are the findings about the version and the memory of Redis.
func redisFindings(ctx context.Context, client redis.UniversalClient, location string) []Finding {
	info, err := client.InfoMap(ctx, "server", "memory").Result()
	if err != nil { // the user may lack the right
		return []Finding{passed("", "answers at "+location), notChecked("Redis memory", "Redis does not tell: "+errorText(err))}
	}
	memory := info["Memory"]
	findings := []Finding{passed("", "Redis "+info["Server"]["redis_version"]+" at "+location)}
	const check = "Redis memory"
	policy, limit := memory["maxmemory_policy"], memory["maxmemory"]
	switch {
	case limit == "0":
		return append(findings, warned(check, "is not limited, and clients determine how many replies are stored", "Set maxmemory, with maxmemory-policy allkeys-lru."))
	case policy == "noeviction":
		return append(findings, warned(check, "nothing is evicted (maxmemory-policy noeviction): when Redis is full, nothing new is cached", "Set maxmemory-policy allkeys-lru."))
	}
	return append(findings, passed(check, "at most "+memory["maxmemory_human"]+", policy "+policy))
}

// probePath is the call that is sent to the legacy store, with a reply of bounded length.
const (
	probePath     = contract.Base + "/products?limit=1"
	maxProbeReply = 1 << 20
)

// checkLegacy checks that the legacy store answers calls as specified, its clock, the credentials
// with which Portico calls it, and its certificate.
func (e *examination) checkLegacy(ctx context.Context) []Finding {
	if e.cfg.Legacy.URL == "" {
		return notUsed("legacy.url is not set")
	}
	const advice = "Set legacy.url to the base URL of the legacy store, as this machine reaches it without passing Portico."
	legacy, err := e.openLegacy()
	if err != nil {
		return one(failed("", err.Error(), advice))
	}
	defer legacy.Close()
	findings := certificateOf(ctx, "legacy store certificate", e.cfg.Legacy.URL, nil)
	sent := time.Now()
	answer, err := legacy.Client.Send(ctx, http.MethodGet, probePath, nil, proxy.Call{Address: contract.Address{ReadOnly: true}}, maxProbeReply)
	if err != nil {
		return append(one(failed("", errorText(err), advice)), findings...)
	}
	roundTrip := time.Since(sent)
	if problem := notAnAnswer(answer); problem != "" {
		return append(one(failed("", problem, advice)), findings...)
	}
	all := one(passed("", fmt.Sprintf("answers calls of the interface (as a Guest: %d)", answer.Status)))
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		date = date.Add(time.Second / 2) // it is cut to seconds
		all = append(all, clockFinding("legacy store clock", date.Sub(sent.Add(roundTrip/2)), roundTrip/2+time.Second/2))
	}
	return append(append(all, e.checkLegacyCredentials(ctx, legacy)...), findings...)
}

// openLegacy returns the legacy store of the configuration.
func (e *examination) openLegacy() (*program.LegacySystem, error) {
	registry := prometheus.NewRegistry() // the metrics are not served
	metrics := guard.NewMetrics(registry)
	return program.NewLegacySystem(e.cfg, metrics, func(_, _ string) {})
}

// notAnAnswer returns the reason why a reply is not a reply of the interface, or "".
func notAnAnswer(a *proxy.Answer) string {
	mediaType, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	switch {
	case a.Status >= 300 && a.Status < 400:
		return fmt.Sprintf("redirects calls elsewhere (status %d)", a.Status)
	case a.Status >= 500:
		return fmt.Sprintf("cannot answer calls now (status %d)", a.Status)
	case !json.Valid(a.Body):
		return fmt.Sprintf("does not answer as a legacy store: status %d, of type %q instead of JSON", a.Status, mediaType)
	case a.Status == http.StatusOK || isFault(a.Body):
		return ""
	}
	return fmt.Sprintf("does not answer as a legacy store: status %d, without messages of the interface", a.Status)
}

// isFault reports whether a body has the messages of the interface.
func isFault(body []byte) bool {
	var fault struct {
		Messages struct {
			Error []json.RawMessage `json:"error"`
		} `json:"messages"`
	}
	return json.Unmarshal(body, &fault) == nil && len(fault.Messages.Error) > 0
}

// checkLegacyCredentials checks the credentials with which Portico itself calls the legacy store.
func (e *examination) checkLegacyCredentials(ctx context.Context, legacy *program.LegacySystem) []Finding {
	const check = "legacy store credentials"
	l := e.cfg.Legacy
	if l.ConsumerKey == "" || l.Token == "" {
		return []Finding{{Check: check, Level: NotUsed, Found: "legacy.consumer_key is not set"}}
	}
	signer := auth.NewSigner(l.ConsumerKey, l.ConsumerSecret, l.Token, l.TokenSecret)
	answer, err := legacy.Client.Send(ctx, http.MethodGet, probePath, nil, proxy.Call{Address: contract.Address{ReadOnly: true}, Sign: func(scheme, host, target string) (string, error) {
		return signer.Sign(&auth.Request{Method: http.MethodGet, Scheme: scheme, Host: host, Target: target}, time.Now())
	}}, maxProbeReply)
	switch {
	case err != nil:
		return one(failed(check, errorText(err), ""))
	case answer.Status == http.StatusOK:
		return one(passed(check, "accepted"))
	case answer.Status == http.StatusForbidden:
		return one(warned(check, "may not read products (status 403)", "Give the administrator of legacy.token a role with all rights on the REST interface of the legacy store."))
	}
	problem := ""
	if found := refusalReason().FindStringSubmatch(string(answer.Body)); found != nil {
		problem = ", " + found[1]
	}
	return one(failed(check, fmt.Sprintf("refused: status %d%s", answer.Status, problem), "Set legacy.consumer_key, legacy.consumer_secret, legacy.token and legacy.token_secret to those of an administrator there. timestamp_refused means that the clocks differ."))
}

// refusalReason matches the reason for which a legacy store refuses a signature.
func refusalReason() *regexp.Regexp { return regexp.MustCompile(`oauth_problem=([a-z_]{1,40})`) }

// certificateOf returns a finding about the certificate of the server of an https URL, which is
// called with a TLS configuration. It returns no finding for other URLs, or if the connection
// fails: then the call itself gives a better error.
func certificateOf(ctx context.Context, check, address string, with *tls.Config) []Finding {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	conn, err := (&tls.Dialer{Config: with}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		return one(failed(check, untrusted.Err.Error(), "Renew the certificate of "+u.Hostname()+", or let this machine trust who has issued it."))
	}
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	found := certificateFinding(conn.(*tls.Conn).ConnectionState().PeerCertificates[0], time.Now())
	found.Check = check
	return one(found)
}

// checkFollow checks that the database of the legacy store can be followed.
func (e *examination) checkFollow(ctx context.Context) []Finding {
	f := e.cfg.Follow
	if f.DSN == "" {
		return notUsed("follow.dsn is not set")
	}
	findings, err := binlog.Check(ctx, binlog.Options{DSN: f.DSN, Prefix: f.Prefix, OldTLS: f.OldTLS})
	if err != nil {
		return one(failed("", errorText(program.ExplainFollowing(e.cfg, err)), "Set follow.dsn to the database of the legacy store, and follow.prefix to the prefix of its tables."))
	}
	if f.PollOnly() {
		return one(passed("", "can be read; follow.mode asks for polling"))
	}
	if len(findings) == 0 {
		return one(passed("", "its binary log can be read: changes arrive as they are committed"))
	}
	var all []Finding
	for _, found := range findings {
		all = append(all, warned("", found.Name+": "+found.Problem, found.Remedy))
	}
	all[len(all)-1].Advice += `; see "portico follow --check".`
	return all
}
