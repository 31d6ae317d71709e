package consent

import (
	"cmp"
	"context"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
)

var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	styleSheet string
	//go:embed copy.js
	copyScript string
)

// pageData is the input of the template: messages, perhaps with a verifier, or one of the two
// forms. Names in it are plain names.
type pageData struct {
	Title, Shop string
	Style       template.CSS
	Script      string   // path of the script; "" for none
	Small       bool     // for a pop-up
	Messages    []string // of a page without a form
	Alert       string   // result of the previous attempt

	Verifier  *verifierCode
	LogIn     *logInForm
	Authorize *authorizeForm
}

// A verifierCode is the code that a user takes to a program that has no callback.
type verifierCode struct{ Code, Consumer string }

type logInForm struct {
	Action, Token, Key                      string
	Simple                                  bool
	Consumer                                string // "" if no program is waiting
	Name                                    string // of the user in the previous attempt
	NameLabel, NameType, NameID, PasswordID string
}

type authorizeForm struct {
	Consumer, User, Token, Key string
	Simple                     bool
	Role                       string
	Abilities                  []string
	Destination                string // host that a user who agrees goes on to; "" for none
	Confirm, Reject, LogOut    string
}

// text returns the message of a notice.
func (n notice) text(at *userKind) string {
	switch n {
	case wrongLogin:
		return at.wrong
	case expiredForm:
		return "That page has expired, or cookies are not allowed. Please log in again."
	case tooMany:
		return "Too many attempts. Please try again later."
	default:
		return ""
	}
}

// askToLogIn shows the log-in form, filled in with a user name, and sets the session cookie
// that it is bound to. The zero consumer stands for a token for which no program is waiting.
func (s *Site) askToLogIn(w http.ResponseWriter, v *visit, consumer adapter.Consumer, one session, name string, why notice) error {
	key, err := s.newFormKey(v.userKind, one)
	if err != nil {
		return err
	}
	if err := s.setSessionCookie(w, v, one); err != nil {
		return err
	}
	status := http.StatusOK
	if why == tooMany {
		status = http.StatusTooManyRequests
	}
	program := ""
	if consumer.ID != 0 {
		program = consumerName(consumer)
	}
	return s.write(w, v, status, &pageData{
		Title: v.userKind.title, Small: v.popUp, Alert: why.text(v.userKind),
		LogIn: &logInForm{
			Action: v.base + v.userKind.loginPost, Token: v.token, Key: key, Simple: v.popUp, Consumer: program, Name: name,
			NameLabel: v.userKind.nameLabel, NameType: v.userKind.nameType, NameID: v.userKind.nameID, PasswordID: v.userKind.passwordID,
		},
	})
}

// askToAuthorize asks a logged-in user whether to grant the program access.
func (s *Site) askToAuthorize(ctx context.Context, w http.ResponseWriter, v *visit, token adapter.Token, consumer adapter.Consumer, one session, u user) error {
	suffix := "/"
	if v.simple {
		suffix = "Simple/"
	}
	key, err := s.newFormKey(v.userKind, one)
	if err != nil {
		return err
	}
	adminID, customerID := v.userKind.ids(u)
	permissions, err := s.granting.Permitted(ctx, adminID, customerID, s.permissions[v.userKind.role])
	if err != nil {
		return err
	}
	form := v.base + v.userKind.form
	return s.write(w, v, http.StatusOK, &pageData{
		Title: "Authorize application", Small: v.simple,
		Authorize: &authorizeForm{
			Consumer: consumerName(consumer), User: plainName(u.name), Token: v.token, Key: key, Simple: v.simple,
			Role: v.userKind.roleName, Abilities: v.userKind.abilities(permissions), Destination: destination(token.Callback),
			Confirm: form + "/confirm" + suffix, Reject: form + "/reject" + suffix, LogOut: form + logOutPath,
		},
	})
}

// consumerName returns the name of a program as pages show it.
func consumerName(consumer adapter.Consumer) string {
	return cmp.Or(plainName(consumer.Name), "A program without a name")
}

// destination returns the host of a callback, or "" if users do not go there.
func destination(callback string) string {
	if !auth.ValidCallback(callback) {
		return ""
	}
	u, err := url.Parse(callback)
	if err != nil {
		return ""
	}
	return u.Host
}

// Names of the form fields.
const (
	tokenField    = "oauth_token"
	simpleField   = "simple"
	keyField      = "form_key"
	nameField     = "login[username]"
	passwordField = "login[password]"
)

// fields are the values of the known form fields in a query or a form; the first value of
// each counts. Unknown fields are dropped.
type fields map[string]string

// parseFields parses a query or a form-encoded body. It skips malformed pairs and reports
// them in err.
func parseFields(text string) (fields, error) {
	found := fields{}
	var malformed error
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || !slices.Contains([]string{tokenField, simpleField, keyField, nameField, passwordField}, name) {
			continue
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			malformed = err
			continue
		}
		if _, known := found[name]; !known {
			found[name] = value
		}
	}
	return found, malformed
}

// readForm reads the fields of a POST request; other requests have none. The error for a
// form that cannot be read is ErrForm.
func readForm(r *http.Request) (fields, error) {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || mediaType != formType {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	form, err := parseFields(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	return form, nil
}
