package contracttests

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
)

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

// playConsent plays the whole flow, from the request token to a call.
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
	for _, decided := range []struct{ target, message string }{{page, invalidRequest}, {k.form + "/confirm/?oauth_token=" + token, k.invalidConfirm}} {
		if err := v.get(decided.target); err != nil {
			return err
		}
		if err := v.expect("a page without a form, because the user has decided", isPage(decided.message), hasNoForm); err != nil {
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
	return v.expectCall("a call with the access token", access, accessSecret, isAccepted)
}

// playVerifier plays the flow of a program without a callback.
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
	verifier, err := v.find(`Verifier code: ([0-9a-f]{32})\b`)
	if err != nil {
		return err
	}
	return k.playExchange(v, token, secret, verifier)
}

// playReject checks the replies to a program that the user rejects, with a callback and without
// one.
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
		want := map[string]string{"oauth_token": token, answer.parameter: answer.value, "simple": k.simple}
		if err := v.expect("a redirect to the callback", redirectsTo(callback+"&oauth_token="+token, want)); err != nil {
			return err
		}
	}
	return nil
}

// playInvalid checks the pages of requests that no user can decide.
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
