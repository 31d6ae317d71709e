package consent

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// A side is one of the two kinds of users, with all that differs between them.
type side struct {
	call     string // begins the names of its calls, in metrics
	resource adapter.Resource
	// The attributes by which an account is found, and the one that is set as long as
	// it may not log in, "" for none.
	name, unconfirmed string

	// cookie is the name of the session's cookie, which no shop on the same host uses,
	// and cookiePaths are the paths that it is sent to.
	cookie      string
	cookiePaths []string

	form      string // path of the form
	loginPost string // path that the form to log in is posted to
	// redirectsWrong: after a wrong password the user goes back to the form; otherwise
	// the reply is the form.
	redirectsWrong bool
	wrong          string // what is then said
	// What is said of a token that does not wait for its user, by what was wanted.
	invalid map[action]string
	// simple is added to the parameters of a callback from the small pages.
	simple []string

	// How the page asks.
	title, nameLabel, nameType, nameID, passwordID string
}

// An action is what a page is for.
type action uint8

const (
	ask action = iota
	confirm
	reject
	logIn
	initiate // by programs
	exchange // by programs
)

const (
	invalidRequest = "An error occurred. Your authorization request is invalid."
	invalidReject  = "An error occurred on reject authorize."
)

func customerSide() *side {
	return &side{
		call: "authorize", resource: adapter.Customers, name: "email", unconfirmed: "confirmation",
		cookie: "portico_customer", cookiePaths: []string{"/oauth", "/customer/account/loginPost"}, form: "/oauth/authorize", loginPost: "/customer/account/loginPost/",
		redirectsWrong: true, wrong: "Invalid login or password.",
		invalid: map[action]string{ask: invalidRequest, confirm: invalidRequest, reject: invalidReject},
		simple:  []string{"simple=1"},
		title:   "Customer log-in", nameLabel: "Email address", nameType: "email", nameID: "email", passwordID: "pass",
	}
}

func adminSide() *side {
	return &side{
		call: "adminAuthorize", resource: adapter.Admins, name: "username", unconfirmed: "disabled",
		cookie: "portico_admin", cookiePaths: []string{"/admin"}, form: "/admin/oauth_authorize", loginPost: "/admin/oauth_authorize/index/",
		wrong:   "Invalid User Name or Password.",
		invalid: map[action]string{ask: invalidRequest, confirm: "An error occurred on confirm authorize.", reject: invalidReject},
		title:   "Administrator log-in", nameLabel: "User Name", nameType: "text", nameID: "username", passwordID: "login",
	}
}

// A page is what a path stands for.
type page struct {
	call   string // its name in metrics
	side   *side  // nil: for programs
	action action
	simple bool // the small page, for a pop-up
}

// pages holds every path, as canonical writes it.
func pages(sides ...*side) map[string]page {
	all := map[string]page{
		"/oauth/initiate": {call: "oauthInitiate", action: initiate},
		"/oauth/token":    {call: "oauthToken", action: exchange},
	}
	for _, s := range sides {
		all[s.form] = page{s.call, s, ask, false}
		all[s.form+"/simple"] = page{s.call, s, ask, true}
		all[s.form+"/confirm"] = page{s.call + "Confirm", s, confirm, false}
		all[s.form+"/confirmSimple"] = page{s.call + "Confirm", s, confirm, true}
		all[s.form+"/reject"] = page{s.call + "Reject", s, reject, false}
		all[s.form+"/rejectSimple"] = page{s.call + "Reject", s, reject, true}
		if path := canonical(s.loginPost); path != s.form {
			all[path] = page{s.call + "Login", s, logIn, false}
		}
	}
	return all
}

// canonical returns a path without the slashes at its end, without the name of what is
// shown without a name, and with one spelling of the administrators' pages.
func canonical(path string) string {
	path = strings.TrimRight(path, "/")
	path = strings.TrimSuffix(path, "/index")
	const spelled, other = "/admin/oauth_authorize", "/admin/oAuth_authorize"
	if rest, ok := strings.CutPrefix(path, other); ok {
		path = spelled + rest
	}
	return path
}

// of returns the page that r asks for. The form that is posted with a name and a
// password is a log-in, wherever that is the form's own address.
func (s *Site) of(r *http.Request) (page, bool) {
	path := r.URL.Path
	if len(path) > longestPath {
		return page{}, false
	}
	p, ok := s.pages[canonical(path)]
	return p, ok
}

// longestPath bounds the paths that are looked at, in bytes.
const longestPath = 64
