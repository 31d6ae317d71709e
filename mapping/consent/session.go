package consent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// sessionLife is how long a user stays logged in.
	sessionLife = 30 * time.Minute
	// formLife is how long a page to log in may be left open.
	formLife = time.Hour
)

// A session is what the cookie of a side holds. User 0 is nobody: then it only tells
// browsers apart.
type session struct {
	Browser  string `json:"b"` // random
	User     int64  `json:"u,omitempty"`
	Password string `json:"p,omitempty"` // fingerprint of the password's hash
	Since    int64  `json:"s"`           // Unix seconds
	Notice   notice `json:"n,omitempty"` // what the next form says
}

// A notice is what a form says of the attempt before it.
type notice uint8

const (
	nothingToSay notice = iota
	wrongLogin
	oldForm
	tooMany
)

// A formKey is what the form to log in carries, sealed.
type formKey struct {
	Browser string `json:"b"`
	Since   int64  `json:"s"`
}

// fingerprint stands for the hash of a password, and gives nothing of it away.
func fingerprint(hash string) string {
	sum := sha256.Sum256([]byte("portico session\x00" + hash))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

func newBrowser() string { return rand.Text() }

// session returns the session of r at a side. One that is not ours, or too old, is
// none.
func (s *Site) session(r *http.Request, at *side) (found session, ok bool) {
	// Another program on the host may set a cookie of the same name.
	for i, cookie := range r.CookiesNamed(at.cookie) {
		if i == 8 {
			break
		}
		var one session
		if s.sealer.open("session "+at.cookie, cookie.Value, &one) && s.young(one.Since, sessionLife) {
			return one, true
		}
	}
	return session{}, false
}

func (s *Site) young(since int64, life time.Duration) bool {
	age := s.now().Sub(time.Unix(since, 0))
	return age >= -time.Minute && age < life // the clocks of two replicas differ
}

// remember gives the client the cookie of a session. It is not kept when the browser
// is closed.
func (s *Site) remember(w http.ResponseWriter, v *visit, one session) error {
	sealed, err := s.sealer.seal("session "+v.side.cookie, one)
	if err != nil {
		return err
	}
	for _, path := range v.side.cookiePaths {
		http.SetCookie(w, &http.Cookie{
			Name: v.side.cookie, Value: sealed, Path: s.cookiePath(path), HttpOnly: true, Secure: v.scheme == "https", SameSite: http.SameSiteStrictMode,
		})
	}
	return nil
}

// cookiePath returns the path of a cookie for the pages below path, as browsers see it.
func (s *Site) cookiePath(path string) string { return s.publicPath + path }

// A user is somebody with an account.
type user struct {
	id   int64
	name string
	hash string
}

// user returns who is logged in with a session. An error means that the store cannot
// tell.
func (s *Site) user(ctx context.Context, at *side, one session) (user, bool, error) {
	accounts := s.accounts[at.resource]
	if one.User == 0 || accounts == nil {
		return user{}, false, nil
	}
	record, err := accounts.Get(ctx, &adapter.GetParams{Key: adapter.Key(one.User)})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.NotFound:
		return user{}, false, nil
	case err != nil:
		return user{}, false, err
	}
	u := at.user(record)
	same := subtle.ConstantTimeCompare([]byte(one.Password), []byte(fingerprint(u.hash))) == 1
	return u, same && u.hash != "", nil
}

// user returns the account that a record is. One that may not log in has no hash.
func (at *side) user(record adapter.Record) user {
	u := user{id: record.Get(record.Schema.Key).Int(), name: record.Get(at.name).Text(), hash: record.Get("password_hash").Text()}
	if at.unconfirmed != "" && record.Get(at.unconfirmed).Text() != "" {
		u.hash = ""
	}
	return u
}

// newFormKey returns the key for a form that is given to the browser of a session.
func (s *Site) newFormKey(at *side, one session) (string, error) {
	return s.sealer.seal("form "+at.cookie, formKey{Browser: one.Browser, Since: s.now().Unix()})
}

// takes reports whether a form that was posted is one of ours, given to the browser
// that sends it, which only a program that is no browser need not tell.
func (s *Site) takes(v *visit) bool {
	var key formKey
	if !s.sealer.open("form "+v.side.cookie, v.form[keyField], &key) || !s.young(key.Since, formLife) {
		return false
	}
	if one, ok := s.session(v.r, v.side); ok {
		return one.Browser == key.Browser
	}
	return !isBrowser(v.r)
}

// isBrowser reports whether r says that it comes from a browser: all of today say
// where a form comes from.
func isBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}
