package contracttests

import (
	"net/http"
	"net/url"
	"strings"
)

// A userKind is one of the two kinds of users who let programs act for them, with the
// differences between their pages (wire 13.2).
type userKind struct {
	name  string // in the names of cases
	form  string // path of the page
	wrong string // message after a wrong password
	// wrongRedirects is true if a wrong password redirects to the page; otherwise the reply
	// is the page.
	wrongRedirects bool
	// simple is the parameter of that name of a callback from the pages for pop-ups.
	simple         string
	invalidConfirm string              // message for a request that cannot be confirmed
	login          func(Consent) Login // the user of the run
	key            string              // of the user in the credentials
}

const invalidRequest = "An error occurred. Your authorization request is invalid."

// userKinds returns both kinds.
func userKinds() []userKind {
	return []userKind{
		{
			name: "a customer", form: "/oauth/authorize", wrong: "Invalid login or password.", wrongRedirects: true,
			simple: "1", invalidConfirm: invalidRequest,
			login: func(c Consent) Login { return c.Customer }, key: "consent.customer",
		},
		{
			name: "an administrator", form: "/admin/oauth_authorize", wrong: "Invalid User Name or Password.",
			invalidConfirm: "An error occurred on confirm authorize.",
			login:          func(c Consent) Login { return c.Admin }, key: "consent.admin",
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

// callback is the address to which users are sent back. No request reaches it.
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

// playInitiateProblems checks the faults for which a request token is refused.
func playInitiateProblems(v *visit) error {
	for _, r := range []struct {
		parameters map[string]string // override a good request's; empty ones are left out
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

// playTokenProblems checks the faults for which an access token is refused, and that a
// request token is not accepted as one.
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
	if v.p.run.target.Dialect != Documented {
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
	return v.expectCall("a refusal of the request token at a call", token, secret, hasStatus(http.StatusUnauthorized))
}

// expectCall makes a call of the contract with a token, and checks the reply.
func (v *visit) expectCall(said, token, secret string, c check) error {
	if err := v.program(http.MethodGet, apiPath+"/products?limit=1", secret, map[string]string{"oauth_token": token}); err != nil {
		return err
	}
	return v.expect(said, c)
}

// isAccepted checks that the caller is known. The implementation may not have products.
func isAccepted(v *visit) Difference {
	if v.reply.status == http.StatusUnauthorized {
		return Difference{"status", "any but 401", "401"}
	}
	return Difference{}
}
