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

// pageData is what the template shows: messages, or one of the two forms.
type pageData struct {
	Title    string
	Style    template.CSS
	Small    bool     // for a pop-up
	Messages []string // of a page without a form
	Alert    string   // what went wrong before

	LogIn     *logInForm
	Authorise *authoriseForm
}

type logInForm struct {
	Action, Token, Key                      string
	Simple                                  bool
	NameLabel, NameType, NameID, PasswordID string
}

type authoriseForm struct {
	Consumer, User, Token string
	Confirm, Reject       string
}

// text returns what a form says of the attempt before it.
func (n notice) text(at *side) string {
	switch n {
	case wrongLogin:
		return at.wrong
	case oldForm:
		return "That page has expired, or cookies are not allowed. Please log in again."
	case tooMany:
		return "Too many attempts. Please try again later."
	default:
		return ""
	}
}

// askToLogIn shows the form to log in to the browser of a session, which it is given.
func (s *Site) askToLogIn(w http.ResponseWriter, v *visit, one session, why notice) error {
	key, err := s.newFormKey(v.side, one)
	if err != nil {
		return err
	}
	if err := s.remember(w, v, one); err != nil {
		return err
	}
	status := http.StatusOK
	if why == tooMany {
		status = http.StatusTooManyRequests
	}
	return s.write(w, status, &pageData{
		Title: v.side.title, Small: v.popUp, Alert: why.text(v.side),
		LogIn: &logInForm{
			Action: v.base + v.side.loginPost, Token: v.token, Key: key, Simple: v.popUp,
			NameLabel: v.side.nameLabel, NameType: v.side.nameType, NameID: v.side.nameID, PasswordID: v.side.passwordID,
		},
	})
}

// askToAuthorise asks a user who is logged in whether the program may act for him.
func (s *Site) askToAuthorise(w http.ResponseWriter, v *visit, consumer adapter.Consumer, u user) error {
	suffix := "/"
	if v.simple {
		suffix = "Simple/"
	}
	return s.write(w, http.StatusOK, &pageData{
		Title: "Authorize application", Small: v.simple,
		Authorise: &authoriseForm{
			Consumer: consumer.Name, User: u.name, Token: v.token,
			Confirm: v.base + v.side.form + "/confirm" + suffix, Reject: v.base + v.side.form + "/reject" + suffix,
		},
	})
}
