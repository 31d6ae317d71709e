package consent

import (
	_ "embed" // the page
	"html/template"
	"net/http"

	"github.com/portico-commerce/portico/adapter"
)

var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	styleSheet string
)

// pageData is the input of the template: messages, or one of the two forms.
type pageData struct {
	Title    string
	Style    template.CSS
	Small    bool     // for a pop-up
	Messages []string // of a page without a form
	Alert    string   // result of the previous attempt

	LogIn     *logInForm
	Authorize *authorizeForm
}

type logInForm struct {
	Action, Token, Key                      string
	Simple                                  bool
	NameLabel, NameType, NameID, PasswordID string
}

type authorizeForm struct {
	Consumer, User, Token string
	Confirm, Reject       string
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

// askToLogIn shows the log-in form and sets the session cookie that it is bound to.
func (s *Site) askToLogIn(w http.ResponseWriter, v *visit, one session, why notice) error {
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
	return s.write(w, status, &pageData{
		Title: v.userKind.title, Small: v.popUp, Alert: why.text(v.userKind),
		LogIn: &logInForm{
			Action: v.base + v.userKind.loginPost, Token: v.token, Key: key, Simple: v.popUp,
			NameLabel: v.userKind.nameLabel, NameType: v.userKind.nameType, NameID: v.userKind.nameID, PasswordID: v.userKind.passwordID,
		},
	})
}

// askToAuthorize asks a logged-in user whether to grant the program access.
func (s *Site) askToAuthorize(w http.ResponseWriter, v *visit, consumer adapter.Consumer, u user) error {
	suffix := "/"
	if v.simple {
		suffix = "Simple/"
	}
	return s.write(w, http.StatusOK, &pageData{
		Title: "Authorize application", Small: v.simple,
		Authorize: &authorizeForm{
			Consumer: consumer.Name, User: u.name, Token: v.token,
			Confirm: v.base + v.userKind.form + "/confirm" + suffix, Reject: v.base + v.userKind.form + "/reject" + suffix,
		},
	})
}
