package consent

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A userKind is one of the two kinds of users, with everything that differs between them.
type userKind struct {
	call     string // prefix of the names of its calls in metrics
	resource adapter.Resource
	role     contract.Role // as which its programs call the contract
	// The attributes by which an account is found, and the attribute that is set while the
	// account may not log in yet, "" for none.
	name, unconfirmed string

	// cookie is the name of the session cookie, which differs from the cookies of shops on
	// the same host; cookiePaths are the paths that it is sent to.
	cookie      string
	cookiePaths []string

	form      string // path of the form
	loginPost string // path to which the log-in form is submitted
	// redirectsWrong: a wrong password redirects the user to the form; otherwise the reply
	// is the form.
	redirectsWrong bool
	wrong          string // message for a wrong password
	// Messages for a token that is not waiting for its user, by the requested action.
	invalid map[action]string
	// simple is added to the callback parameters on the small pages.
	simple []string

	// Texts and attributes of the forms.
	title, nameLabel, nameType, nameID, passwordID string
	roleName                                       string // of role, with an article
}

// ids returns the id of a user of the kind as an administrator and as a customer, one of which is 0.
func (k *userKind) ids(u user) (adminID, customerID int64) {
	if k.role == contract.Admin {
		return u.id, 0
	}
	return 0, u.id
}

// Paths below the form's path that only these pages use.
const (
	logOutPath = "/logout"
	scriptPath = "/copy.js"
)

// An action is the task that a request gives a page.
type action uint8

const (
	ask action = iota
	confirm
	reject
	logIn
	logOut
	script
	initiate // by programs
	exchange // by programs
)

const (
	invalidRequest = "An error occurred. Your authorization request is invalid."
	invalidReject  = "An error occurred on reject authorize."
)

func customerKind() *userKind {
	return &userKind{
		call: "authorize", resource: adapter.Customers, role: contract.Customer, roleName: "a customer", name: "email", unconfirmed: "confirmation",
		cookie: "portico_customer", cookiePaths: []string{"/oauth", "/customer/account/loginPost"}, form: "/oauth/authorize", loginPost: "/customer/account/loginPost/",
		redirectsWrong: true, wrong: "Invalid login or password.",
		invalid: map[action]string{ask: invalidRequest, confirm: invalidRequest, reject: invalidReject},
		simple:  []string{"simple=1"},
		title:   "Customer log-in", nameLabel: "Email address", nameType: "email", nameID: "email", passwordID: "pass",
	}
}

func adminKind() *userKind {
	return &userKind{
		call: "adminAuthorize", resource: adapter.Admins, role: contract.Admin, roleName: "an administrator", name: "username", unconfirmed: "disabled",
		cookie: "portico_admin", cookiePaths: []string{"/admin"}, form: "/admin/oauth_authorize", loginPost: "/admin/oauth_authorize/index/",
		wrong:   "Invalid User Name or Password.",
		invalid: map[action]string{ask: invalidRequest, confirm: "An error occurred on confirm authorize.", reject: invalidReject},
		title:   "Administrator log-in", nameLabel: "User Name", nameType: "text", nameID: "username", passwordID: "login",
	}
}

// A page describes the endpoint or page that is served at a path.
type page struct {
	call     string    // its name in metrics
	userKind *userKind // nil for endpoints of programs
	action   action
	simple   bool // the small page for a pop-up
}

// pages returns the pages by their canonical path.
func pages(kinds ...*userKind) map[string]page {
	all := map[string]page{
		"/oauth/initiate": {call: "oauthInitiate", action: initiate},
		"/oauth/token":    {call: "oauthToken", action: exchange},
	}
	for _, s := range kinds {
		all[s.form] = page{s.call, s, ask, false}
		all[s.form+"/simple"] = page{s.call, s, ask, true}
		all[s.form+"/confirm"] = page{s.call + "Confirm", s, confirm, false}
		all[s.form+"/confirmSimple"] = page{s.call + "Confirm", s, confirm, true}
		all[s.form+"/reject"] = page{s.call + "Reject", s, reject, false}
		all[s.form+"/rejectSimple"] = page{s.call + "Reject", s, reject, true}
		all[s.form+logOutPath] = page{s.call + "Logout", s, logOut, false}
		all[s.form+scriptPath] = page{s.call + "Script", s, script, false}
		if path := canonical(s.loginPost); path != s.form {
			all[path] = page{s.call + "Login", s, logIn, false}
		}
	}
	return all
}

// canonical returns a path without trailing slashes, without the default action at its end,
// and with one spelling for the administrators' pages.
func canonical(path string) string {
	path = strings.TrimRight(path, "/")
	path = strings.TrimSuffix(path, "/index")
	const spelled, other = "/admin/oauth_authorize", "/admin/oAuth_authorize"
	if rest, ok := strings.CutPrefix(path, other); ok {
		path = spelled + rest
	}
	return path
}

// pageOf returns the page at the path of r, and whether there is one.
func (s *Site) pageOf(r *http.Request) (page, bool) {
	path := r.URL.Path
	if len(path) > maxPathBytes {
		return page{}, false
	}
	p, ok := s.pages[canonical(path)]
	return p, ok
}

// maxPathBytes is the maximum length in bytes of a path that is looked up.
const maxPathBytes = 64
