package consent

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// sessionLife is how long a user stays logged in.
	sessionLife = 30 * time.Minute
	// formLife is how long a log-in form can be submitted.
	formLife = time.Hour
)

// A session is the content of a session cookie. User 0 means that no user is logged in; the
// session then only identifies the browser.
type session struct {
	Browser  string `json:"b"` // random
	User     int64  `json:"u,omitempty"`
	Password string `json:"p,omitempty"` // fingerprint of the password hash
	Since    int64  `json:"s"`           // Unix seconds
	Notice   notice `json:"n,omitempty"` // message for the next form
	Name     string `json:"m,omitempty"` // user name for the next form
}

// A notice is the message that a form shows about the previous attempt.
type notice uint8

const (
	noNotice notice = iota
	wrongLogin
	expiredForm
	tooMany
)

// A formKey is the sealed content of a hidden field in the log-in form.
type formKey struct {
	Browser string `json:"b"`
	Since   int64  `json:"s"`
}

// fingerprint returns a value that changes with the hash of a password, but does not reveal
// it.
func fingerprint(hash string) string {
	sum := sha256.Sum256([]byte("portico session\x00" + hash))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

func newBrowserID() string { return rand.Text() }

// session returns the session of a request. It ignores cookies that are invalid or expired.
func (s *Site) session(r *http.Request, at *userKind) (found session, ok bool) {
	// Other software on the host may set a cookie of the same name.
	for i, cookie := range r.CookiesNamed(at.cookie) {
		if i == 8 {
			break
		}
		var one session
		if s.sealer.open("session "+at.cookie, cookie.Value, &one) && s.isRecent(one.Since, sessionLife) {
			return one, true
		}
	}
	return session{}, false
}

func (s *Site) isRecent(since int64, life time.Duration) bool {
	age := s.now().Sub(time.Unix(since, 0))
	return age >= -time.Minute && age < life // tolerates a clock difference between replicas
}

// setSessionCookie sets the session cookie of the client. It expires when the browser is closed.
func (s *Site) setSessionCookie(w http.ResponseWriter, v *visit, one session) error {
	sealed, err := s.sealer.seal("session "+v.userKind.cookie, one)
	if err != nil {
		return err
	}
	for _, path := range v.userKind.cookiePaths {
		http.SetCookie(w, &http.Cookie{
			Name: v.userKind.cookie, Value: sealed, Path: s.publicPath + path, HttpOnly: true, Secure: v.scheme == "https", SameSite: http.SameSiteStrictMode,
		})
	}
	return nil
}

// A user is the account of a customer or an administrator.
type user struct {
	id   int64
	name string
	hash string
}

// user returns the user who is logged in with a session. An error means that the store
// failed.
func (s *Site) user(ctx context.Context, at *userKind, one session) (user, bool, error) {
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

// user returns the account in a record. A user who may not log in has no hash.
func (at *userKind) user(record adapter.Record) user {
	u := user{id: record.Get(record.Schema.Key).Int(), name: record.Get(at.name).Text(), hash: record.Get("password_hash").Text()}
	if at.unconfirmed != "" && record.Get(at.unconfirmed).Text() != "" {
		u.hash = ""
	}
	return u
}

// newFormKey returns the key for a form that is issued to the browser of a session.
func (s *Site) newFormKey(at *userKind, one session) (string, error) {
	return s.sealer.seal("form "+at.cookie, formKey{Browser: one.Browser, Since: s.now().Unix()})
}

// acceptsForm reports whether a submitted form was issued by this site to the browser that sends
// it. Programs that are not browsers need not send the cookie that proves it.
func (s *Site) acceptsForm(v *visit) bool {
	var key formKey
	if !s.sealer.open("form "+v.userKind.cookie, v.form[keyField], &key) || !s.isRecent(key.Since, formLife) {
		return false
	}
	if one, ok := s.session(v.r, v.userKind); ok {
		return one.Browser == key.Browser
	}
	return !isBrowser(v.r)
}

// isBrowser reports whether r comes from a browser: all current browsers send headers with the
// origin of a form.
func isBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// maxSealedBytes is the maximum size of a sealed text in bytes: the size of a session with a
// user name of longestName bytes, each of which JSON may write as six. Browsers keep cookies
// of 4 KiB.
const maxSealedBytes = 3 << 10

// A sealer encrypts and authenticates data that clients store for the server.
type sealer struct{ aead cipher.AEAD }

// newSealer returns a sealer with a key derived from secret. Without a secret the key is
// random, so that no other process can open its seals.
func newSealer(secret []byte) (*sealer, error) {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "portico consent v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead}, nil
}

// seal returns v, sealed for a purpose, as letters, digits, "-" and "_".
func (s *sealer) seal(purpose string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

// open decodes into v a text that was sealed for the same purpose, and reports whether that
// succeeded.
func (s *sealer) open(purpose, sealed string, v any) bool {
	if len(sealed) > maxSealedBytes {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(text) < s.aead.Overhead() {
		return false
	}
	if text, err = s.aead.Open(nil, nil, text, []byte(purpose)); err != nil {
		return false
	}
	return json.Unmarshal(text, v) == nil
}
