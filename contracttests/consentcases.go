package contracttests

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
)

// A userKind is one of the two kinds of users who let programs act for them, with what
// differs between their pages (wire 13.2).
type userKind struct {
	name  string // in the names of cases
	form  string // path of the page
	wrong string // message after a wrong password
	// wrongRedirects says that a wrong password redirects to the page; otherwise the reply
	// is the page.
	wrongRedirects bool
	// simple is appended to the parameters of a callback from the pages for pop-ups.
	simple         map[string]string
	invalidConfirm string              // message for a request that cannot be confirmed
	login          func(Consent) Login // the user of the run
	key            string              // of the user in the credentials
	mine           string              // a call that the user's role may make
}

const invalidRequest = "An error occurred. Your authorization request is invalid."

// userKinds returns both kinds.
func userKinds() []userKind {
	return []userKind{
		{
			name: "a customer", form: "/oauth/authorize", wrong: "Invalid login or password.", wrongRedirects: true,
			simple: map[string]string{"simple": "1"}, invalidConfirm: invalidRequest,
			login: func(c Consent) Login { return c.Customer }, key: "consent.customer", mine: "/orders?limit=1",
		},
		{
			name: "an administrator", form: "/admin/oauth_authorize", wrong: "Invalid User Name or Password.",
			invalidConfirm: "An error occurred on confirm authorize.",
			login:          func(c Consent) Login { return c.Admin }, key: "consent.admin", mine: "/customers?limit=1",
		},
	}
}

// user returns the user of the run.
func (k *userKind) user(v *visit) (Login, error) {
	user := k.login(v.p.run.target.Credentials.Consent)
	if user.Username == "" {
		return user, skipError("the credentials have no " + k.key)
	}
	return user, nil
}

// callback is where users are sent back to. Nobody calls it.
const callback = "https://client.example/callback?keep=1"

// consentCases returns the cases of three-legged OAuth (wire 13). Unlike the cases in files
// they are functions, because they walk through pages.
func consentCases() []Case {
	newCase := func(name string, play func(*visit) error) Case {
		return Case{
			Resource: "oauth", Name: name, Clauses: []string{"Gaps: credentials"}, Formats: []string{"html"},
			// Consent revokes other tokens of the same user and consumer.
			Exclusive: []string{"consent"}, visit: play,
		}
	}
	all := []Case{
		newCase("a program asks for a request token", playInitiate),
		newCase("a program is refused a request token", playInitiateProblems),
		newCase("a program is refused an access token", playTokenProblems),
	}
	for _, k := range userKinds() {
		all = append(all,
			newCase(k.name+" logs in, lets a program act, and the program calls", k.playConsent),
			newCase(k.name+" takes a verifier to the program", k.playVerifier),
			newCase(k.name+" rejects a program", k.playReject),
			newCase(k.name+" decides in a pop-up", k.playPopUp),
			newCase(k.name+" has no valid request", k.playInvalid),
		)
		all[len(all)-1].visitReads = true
	}
	return all
}

// initiate fetches a request token.
func (v *visit) initiate(callback string) (token, secret string, err error) {
	if err := v.program(http.MethodPost, "/oauth/initiate", "", map[string]string{"oauth_callback": callback}); err != nil {
		return "", "", err
	}
	return v.token(true)
}

// playInitiate checks the spellings of the path, the methods, and where parameters may be.
func playInitiate(v *visit) error {
	for _, r := range []struct{ method, path string }{
		{http.MethodPost, "/oauth/initiate"}, {http.MethodGet, "/oauth/initiate"}, {http.MethodPost, "/oauth/initiate/"}, {http.MethodPost, "/oauth/initiate/index"},
	} {
		for _, to := range []string{"oob", callback} {
			if err := v.program(r.method, r.path, "", map[string]string{"oauth_callback": to}); err != nil {
				return err
			}
			if _, _, err := v.token(true); err != nil {
				return err
			}
		}
	}
	consumer := v.p.run.target.Credentials.Consent.Consumer
	parameters := url.Values{"oauth_consumer_key": {consumer.Key}, "oauth_signature_method": {"PLAINTEXT"}, "oauth_signature": {consumer.Secret + "&"}, "oauth_callback": {"oob"}}
	if err := v.send(http.MethodPost, "/oauth/initiate", parameters, nil); err != nil {
		return err
	}
	_, _, err := v.token(true)
	return err
}

// playInitiateProblems checks what a request token is refused for.
func playInitiateProblems(v *visit) error {
	for _, r := range []struct {
		parameters map[string]string // override those of a good request; empty ones are left out
		status     int
		problem    string
	}{
		{map[string]string{}, 400, "parameter_absent&oauth_parameters_absent=oauth_callback"},
		{map[string]string{"oauth_callback": "OOB"}, 400, "parameter_rejected&message=oauth_callback"},
		{map[string]string{"oauth_callback": "/relative"}, 400, "parameter_rejected&message=oauth_callback"},
		{map[string]string{"oauth_callback": "javascript:alert(1)"}, 400, "parameter_rejected&message=oauth_callback"},
		{map[string]string{"oauth_callback": "oob", "oauth_version": "1.1"}, 400, "version_rejected"},
		{map[string]string{"oauth_callback": "oob", "oauth_consumer_key": ""}, 400, "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{map[string]string{"oauth_callback": "oob", "oauth_signature_method": "HMAC-MD5"}, 400, "signature_method_rejected"},
		{map[string]string{"oauth_callback": "oob", "oauth_consumer_key": strings.Repeat("z", 32)}, 401, "consumer_key_rejected"},
		{map[string]string{"oauth_callback": "oob", "oauth_signature": "wrong&"}, 401, "signature_invalid"},
	} {
		if err := v.program(http.MethodPost, "/oauth/initiate", "", r.parameters); err != nil {
			return err
		}
		if err := v.expect("a problem", isProblem(r.status, r.problem)); err != nil {
			return err
		}
	}
	return nil
}

// playTokenProblems checks what an access token is refused for, and that a request token is
// none.
func playTokenProblems(v *visit) error {
	token, secret, err := v.initiate("oob")
	if err != nil {
		return err
	}
	verifier := strings.Repeat("0", 32)
	for _, r := range []struct {
		parameters map[string]string
		status     int
		problem    string
	}{
		{map[string]string{"oauth_verifier": verifier}, 400, "parameter_absent&oauth_parameters_absent=oauth_token"},
		{map[string]string{"oauth_token": "short", "oauth_verifier": verifier}, 401, "token_rejected"},
		{map[string]string{"oauth_token": strings.Repeat("z", 32), "oauth_verifier": verifier}, 401, "token_rejected"},
		{map[string]string{"oauth_token": token}, 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
	} {
		if err := v.program(http.MethodPost, "/oauth/token", secret, r.parameters); err != nil {
			return err
		}
		if err := v.expect("a problem", isProblem(r.status, r.problem)); err != nil {
			return err
		}
	}
	// A token that no user has confirmed.
	if err := v.program(http.MethodPost, "/oauth/token", secret, map[string]string{"oauth_token": token, "oauth_verifier": verifier}); err != nil {
		return err
	}
	refused := isProblem(http.StatusUnauthorized, "verifier_invalid")
	if v.p.run.target.Dialect == Magento {
		refused = func(v *visit) Difference { // the original crashes
			if v.reply.status >= http.StatusInternalServerError {
				return Difference{}
			}
			return hasStatus(http.StatusInternalServerError)(v)
		}
	}
	if err := v.expect("a refusal", refused); err != nil {
		return err
	}
	return v.callsAPI(token, secret, "/stockitems?limit=1", http.StatusUnauthorized)
}

// callsAPI makes a call of the contract with a token, and checks the status.
func (v *visit) callsAPI(token, secret, path string, status int) error {
	if err := v.program(http.MethodGet, apiPath+path, secret, map[string]string{"oauth_token": token}); err != nil {
		return err
	}
	return v.expect("a call with the token", hasStatus(status))
}

// errTooManyLogins is the reason to skip a case on a store that protects its users from
// guessed passwords, after many runs.
const errTooManyLogins = skipError("the store limits attempts to log in: run the case again in some minutes")

// logIn opens a page of the user, logs in there, and is back at the page.
func (k *userKind) logIn(v *visit, page string, wrongFirst bool) error {
	user, err := k.user(v)
	if err != nil {
		return err
	}
	if err := v.get(page); err != nil {
		return err
	}
	try := func(password string) error {
		form, err := v.page.formWith("login[username]", "login[password]", "form_key", "oauth_token")
		if err != nil {
			if v.reply.status == http.StatusTooManyRequests {
				return errTooManyLogins
			}
			return cmp.Or(v.expect("a page with a log-in form", isPage()), v.broken(err.Error()))
		}
		v.hide(form.fields.Get("form_key"))
		return v.submit(form, url.Values{"login[username]": {user.Username}, "login[password]": {password}})
	}
	if wrongFirst {
		if err := try("wrong-" + v.p.bindings["unique"].text); err != nil {
			return err
		}
		if v.reply.status == http.StatusTooManyRequests {
			return errTooManyLogins
		}
		if k.wrongRedirects {
			if err := v.expect("a redirect to the form", hasStatus(http.StatusFound)); err != nil {
				return err
			}
			if err := v.follow(); err != nil {
				return err
			}
		}
		if err := v.expect("the form with a message", isPage(k.wrong)); err != nil {
			return err
		}
	}
	if err := try(user.Password); err != nil {
		return err
	}
	if v.reply.status == http.StatusTooManyRequests {
		return errTooManyLogins
	}
	if err := v.expect("a redirect to the form", hasStatus(http.StatusFound)); err != nil {
		return err
	}
	if err := v.follow(); err != nil {
		return err
	}
	return v.expect("the question whether the program may act", isPage("requests access to your account"))
}

// decide submits one of the two forms of the page.
func (v *visit) decide(id string) error {
	form, err := v.page.formWithID(id)
	if err == nil && !form.fields.Has("oauth_token") {
		_, err = v.page.formWith("oauth_token")
	}
	if err != nil {
		return v.broken(err.Error())
	}
	return v.submit(form, nil)
}

// begin fetches a request token for a callback, and logs in at a page of the user.
func (k *userKind) begin(v *visit, to, page string, wrongFirst bool) (token, secret string, err error) {
	if _, err := k.user(v); err != nil { // before anything is written
		return "", "", err
	}
	if token, secret, err = v.initiate(to); err != nil {
		return "", "", err
	}
	return token, secret, k.logIn(v, k.form+page+"?oauth_token="+token, wrongFirst)
}

// playConsent is the whole way, from the request token to a call.
func (k *userKind) playConsent(v *visit) error {
	if _, err := k.user(v); err != nil {
		return err
	}
	token, secret, err := v.initiate(callback)
	if err != nil {
		return err
	}
	page := k.form + "?oauth_token=" + token
	if err := v.send(http.MethodPut, page, nil, nil); err != nil {
		return err
	}
	if err := v.expect("a page that says so", isPage("Request is not GET")); err != nil {
		return err
	}
	if err := v.get(k.form + "/confirm/?oauth_token=" + token); err != nil {
		return err
	}
	if err := v.expect("a redirect to the form, because nobody has logged in", redirectsTo("", map[string]string{"oauth_token": token})); err != nil {
		return err
	}
	if err := k.logIn(v, page, true); err != nil {
		return err
	}
	if err := v.decide("oauth_authorize_confirm"); err != nil {
		return err
	}
	if u, err := url.Parse(v.reply.header.Get("Location")); err == nil {
		v.hide(u.Query().Get("oauth_verifier"))
	}
	if err := v.expect("a redirect to the callback", redirectsTo(callback+"&oauth_token="+token, map[string]string{"keep": "1", "oauth_token": token, "oauth_verifier": hex32})); err != nil {
		return err
	}
	u, err := url.Parse(v.reply.header.Get("Location"))
	if err != nil {
		return err
	}
	for target, message := range map[string]string{page: invalidRequest, k.form + "/confirm/?oauth_token=" + token: k.invalidConfirm} {
		if err := v.get(target); err != nil {
			return err
		}
		if err := v.expect("a page without a form, because the user has decided", isPage(message), hasNoForm); err != nil {
			return err
		}
	}
	return k.playExchange(v, token, secret, u.Query().Get("oauth_verifier"))
}

// playExchange exchanges a confirmed request token, and uses the access token.
func (k *userKind) playExchange(v *visit, token, secret, verifier string) error {
	exchange := func(token, secret, verifier string) error {
		return v.program(http.MethodPost, "/oauth/token", secret, map[string]string{"oauth_token": token, "oauth_verifier": verifier})
	}
	if err := exchange(token, secret, strings.Repeat("0", 32)); err != nil {
		return err
	}
	if err := v.expect("a refusal of another verifier", isProblem(401, "verifier_invalid")); err != nil {
		return err
	}
	if err := exchange(token, "wrong", verifier); err != nil {
		return err
	}
	if err := v.expect("a refusal of a wrong signature", isProblem(401, "signature_invalid")); err != nil {
		return err
	}
	if err := exchange(token, secret, verifier); err != nil {
		return err
	}
	access, accessSecret, err := v.token(false)
	if err != nil {
		return err
	}
	if err := exchange(token, secret, verifier); err != nil {
		return err
	}
	if err := v.expect("a refusal of the request token, which the access token has replaced", isProblem(401, "token_rejected")); err != nil {
		return err
	}
	return v.callsAPI(access, accessSecret, k.mine, http.StatusOK)
}

// playVerifier is the way of a program without a callback.
func (k *userKind) playVerifier(v *visit) error {
	token, secret, err := k.begin(v, "oob", "", false)
	if err != nil {
		return err
	}
	if err := v.decide("oauth_authorize_confirm"); err != nil {
		return err
	}
	if err := v.expect("a page with the verifier", isPage("Authorization confirmed.")); err != nil {
		return err
	}
	verifier, err := v.anyOf(`Verifier code: ([0-9a-f]{32})\b`)
	if err != nil {
		return err
	}
	return k.playExchange(v, token, secret, verifier)
}

// playReject checks what a program learns that is refused, with a callback and without one.
func (k *userKind) playReject(v *visit) error {
	token, _, err := k.begin(v, callback, "", false)
	if err != nil {
		return err
	}
	if err := v.decide("oauth_authorize_reject"); err != nil {
		return err
	}
	if err := v.expect("a redirect to the callback", redirectsTo(callback+"&oauth_token="+token, map[string]string{"rejected": "1", "oauth_verifier": ""})); err != nil {
		return err
	}
	if token, _, err = v.initiate("oob"); err != nil {
		return err
	}
	if err := v.get(k.form + "?oauth_token=" + token); err != nil { // still logged in
		return err
	}
	if err := v.expect("the question whether the program may act", isPage("requests access to your account")); err != nil {
		return err
	}
	if err := v.decide("oauth_authorize_reject"); err != nil {
		return err
	}
	return v.expect("a page that says so", isPage("The application access request is rejected."))
}

// playPopUp checks the small pages for pop-ups.
func (k *userKind) playPopUp(v *visit) error {
	for i, answer := range []struct{ form, parameter, value string }{
		{"oauth_authorize_confirm", "oauth_verifier", hex32}, {"oauth_authorize_reject", "rejected", "1"},
	} {
		token, _, err := v.initiate(callback)
		if err != nil {
			return err
		}
		page := k.form + "/simple?oauth_token=" + token
		if i == 0 {
			err = k.logIn(v, page, false)
		} else {
			err = v.get(page)
		}
		if err != nil {
			return err
		}
		if err := v.decide(answer.form); err != nil {
			return err
		}
		if u, err := url.Parse(v.reply.header.Get("Location")); err == nil {
			v.hide(u.Query().Get("oauth_verifier"))
		}
		want := map[string]string{"oauth_token": token, answer.parameter: answer.value, "simple": k.simple["simple"]}
		if err := v.expect("a redirect to the callback", redirectsTo(callback+"&oauth_token="+token, want)); err != nil {
			return err
		}
	}
	return nil
}

// playInvalid checks the pages of requests that nobody can decide.
func (k *userKind) playInvalid(v *visit) error {
	for _, query := range []string{"", "?oauth_token=", "?oauth_token=short", "?oauth_token=" + strings.Repeat("z", 32)} {
		for _, page := range []string{"", "/simple"} {
			if err := v.get(k.form + page + query); err != nil {
				return err
			}
			if err := v.expect("a page without a form", isPage(invalidRequest), hasNoForm); err != nil {
				return err
			}
		}
	}
	return nil
}
