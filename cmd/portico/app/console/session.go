package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"github.com/portico-commerce/portico/mapping/limits"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of sessions.
const (
	maxSessions = 64
	// idleTime ends an idle session, sessionTime any session.
	idleTime    = 30 * time.Minute
	sessionTime = 12 * time.Hour
)

// A session belongs to a browser that has logged in.
type session struct {
	name        string // for the log
	begun, used time.Time
}

// sessions holds the open sessions by the hash of the cookie. They are lost when the process ends.
type sessions struct {
	now func() time.Time

	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, open: map[[sha256.Size]byte]*session{}}
}

// begin opens a session and returns the value of its cookie. If there are too many, it ends the
// least recently used one.
func (s *sessions) begin() (value string, begun *session) {
	value = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSessions {
		var oldest [sha256.Size]byte
		var last *session
		for key, one := range s.open {
			if last == nil || one.used.Before(last.used) {
				oldest, last = key, one
			}
		}
		delete(s.open, oldest)
	}
	key := sha256.Sum256([]byte(value))
	// The name is a part of the hash, from which the value cannot be found.
	begun = &session{name: base64.RawURLEncoding.EncodeToString(key[:6]), begun: s.now(), used: s.now()}
	s.open[key] = begun
	return value, begun
}

// find returns the session of a cookie and counts it as used, or nil.
func (s *sessions) find(value string) *session { return s.lookUp(value, true) }

// valid reports whether the session of a cookie is open, without counting it as used.
func (s *sessions) valid(value string) bool { return s.lookUp(value, false) != nil }

func (s *sessions) lookUp(value string, use bool) *session {
	if value == "" {
		return nil
	}
	key := sha256.Sum256([]byte(value))
	s.mu.Lock()
	defer s.mu.Unlock()
	found, now := s.open[key], s.now()
	switch {
	case found == nil:
	case now.Sub(found.used) >= idleTime || now.Sub(found.begun) >= sessionTime:
		delete(s.open, key)
		return nil
	case use:
		found.used = now
	}
	return found
}

// end closes the session of a cookie.
func (s *sessions) end(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(value)))
}

// cookieName returns the name of the cookie. Browsers send cookies to all ports of a host, so that
// consoles of several processes need several names.
func (v *visit) cookieName() string {
	name := "portico_console"
	if _, port, err := net.SplitHostPort(v.r.Host); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			name += "_" + strconv.FormatUint(n, 10)
		}
	}
	return name
}

// cookieLength is the length of the values that rand.Text returns.
const cookieLength = 26

// cookieValue returns the value of the cookie, or "" if it is not a cookie of this console.
func (v *visit) cookieValue() string {
	cookie, err := v.r.Cookie(v.cookieName())
	if err != nil || len(cookie.Value) != cookieLength || strings.Trim(cookie.Value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return ""
	}
	return cookie.Value
}

// setCookie gives the browser a cookie, which it forgets when it is closed.
func (v *visit) setCookie(value string) {
	http.SetCookie(v.w, &http.Cookie{
		Name: v.cookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.Scheme(v.r) == "https",
	})
}

// csrfToken returns the token for the forms of a browser with a cookie. It needs no session, so
// that the log-in form has a token, too.
func (c *Console) csrfToken(cookie string) string {
	mac := hmac.New(sha256.New, c.csrfKey)
	mac.Write([]byte(cookie))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// validCSRF reports whether token is the CSRF token of cookie.
func (c *Console) validCSRF(cookie, token string) bool {
	return hmac.Equal([]byte(token), []byte(c.csrfToken(cookie)))
}

// askToLogIn sends the browser to the log-in form, which leads back to the page.
func (v *visit) askToLogIn() {
	if v.r.Header.Get("Accept") == eventStream { // a stream whose session has ended
		http.Error(v.w, "log in", http.StatusUnauthorized)
		return
	}
	path := loginPath
	if v.r.Method == http.MethodGet && v.path != "/" {
		path += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
}

// A loginForm is the data of the log-in page.
type loginForm struct {
	Next  string // page to go to
	Fault string
}

// nextPage returns the page of the console to show after a log-in: next if it is one, and otherwise
// the first page.
func nextPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/console/") || strings.HasPrefix(u.Path, loginPath) || strings.ContainsAny(next, "\\\r\n") {
		return "/"
	}
	return next
}

// showLogin shows the log-in form.
func (v *visit) showLogin() error {
	if v.session != nil || v.Token == "" {
		return v.redirect("/", "")
	}
	return v.show(http.StatusOK, "login", "Log in", loginForm{Next: nextPage(v.r.FormValue("next"))})
}

// logIn opens a session if the token is right. The browser gets a new cookie, so that the former
// one, which others may know, does not give access to the session.
func (v *visit) logIn() error {
	if v.Token == "" {
		return v.redirect("/", "")
	}
	form := loginForm{Next: nextPage(v.r.PostForm.Get("next"))}
	if wait, ok := v.attempts.Take(limits.Network(clientAddress(v.r))); !ok {
		v.w.Header().Set("Retry-After", strconv.Itoa(wait))
		form.Fault = "Too many attempts: wait " + strconv.Itoa(wait) + " seconds."
		return v.show(http.StatusTooManyRequests, "login", "Log in", form)
	}
	// Hashes have the same length, whatever was sent.
	given, want := sha256.Sum256([]byte(v.r.PostForm.Get("token"))), sha256.Sum256([]byte(v.Token))
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		v.audit("log-in refused")
		form.Fault = "That is not the token of ops.token."
		return v.show(http.StatusUnauthorized, "login", "Log in", form)
	}
	v.sessions.end(v.cookieValue())
	value, begun := v.sessions.begin()
	v.session = begun
	v.setCookie(value)
	v.audit("log-in")
	return v.redirect(form.Next, "")
}

// logOut ends the session.
func (v *visit) logOut() error {
	v.audit("log-out")
	v.sessions.end(v.cookieValue())
	http.SetCookie(v.w, &http.Cookie{Name: v.cookieName(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.Scheme(v.r) == "https", MaxAge: -1})
	return v.redirect(loginPath, "logged-out")
}

// clientAddress returns the address of the peer.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
