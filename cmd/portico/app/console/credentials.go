package console

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Credentials lists and changes credentials. Errors of kinds other than Unavailable and Internal
// are Refusals.
type Credentials struct {
	// Consumers, Keys and Admins list everything, without secrets.
	Consumers func(context.Context) ([]adapter.Grant, error)
	Keys      func(context.Context) ([]adapter.APIKey, error)
	Admins    func(context.Context) ([]Admin, error)
	// BearerOff says that the process accepts no API keys.
	BearerOff bool

	// The functions that add credentials return the secrets, which cannot be read again.
	AddConsumer func(ctx context.Context, name, callback string) (adapter.Consumer, error)
	AddToken    func(ctx context.Context, consumerKey string, adminID, customerID int64) (adapter.Token, error)
	// AddKey creates a key for a customer, or for administrators if customerID is 0. It belongs to
	// the administrator username, unless that is empty.
	AddKey   func(ctx context.Context, name, username string, customerID int64) (added adapter.APIKey, text string, err error)
	AddAdmin func(ctx context.Context, username, password string) (id int64, err error)

	RemoveConsumer func(ctx context.Context, key string) (tokens int64, err error)
	RevokeToken    func(ctx context.Context, token string) error
	RevokeKey      func(ctx context.Context, id int64) error
	// DisableAdmin and EnableAdmin return the id of the administrator.
	DisableAdmin func(ctx context.Context, username string) (id int64, err error)
	EnableAdmin  func(ctx context.Context, username string) (id int64, err error)
}

// An Admin is an administrator.
type Admin = credentials.PrintedAdmin

const credentialsPath = "/console/credentials"

// A credentialsPage is the data of the page: one of three lists.
type credentialsPage struct {
	List, Search string // consumers, keys or admins
	For          string // key of the consumer that gets a token
	BearerOff    bool
	Consumers    []consumerRow
	Keys         []adapter.APIKey
	Admins       []Admin
	Pager        pager
}

// A consumerRow is a consumer with its first tokens.
type consumerRow struct {
	adapter.Grant
	More int // tokens that are not shown
}

// Total returns the number of all tokens.
func (r consumerRow) Total() int { return len(r.Tokens) + r.More }

// maxShownTokens is the number of tokens of a consumer that a list shows.
const maxShownTokens = 10

// Lists returns the names of the lists with their labels.
func (credentialsPage) Lists() []navItem {
	return []navItem{{"consumers", "Programs and tokens"}, {"keys", "API keys"}, {"admins", "Administrators"}}
}

func showCredentials(v *visit) error {
	query := v.r.URL.Query()
	p := credentialsPage{List: query.Get("list"), Search: query.Get("search"), For: query.Get("for"), BearerOff: v.Credentials.BearerOff}
	search := strings.ToLower(p.Search)
	matches := func(texts ...string) bool {
		return search == "" || strings.Contains(strings.ToLower(strings.Join(texts, "\n")), search)
	}
	switch p.List {
	case "keys":
		keys, err := v.Credentials.Keys(v.r.Context())
		if err != nil {
			return err
		}
		p.Keys, p.Pager = paginate(v, selected(keys, func(k *adapter.APIKey) bool { return matches(k.Name) }))
	case "admins":
		admins, err := v.Credentials.Admins(v.r.Context())
		if err != nil {
			return err
		}
		p.Admins, p.Pager = paginate(v, selected(admins, func(a *Admin) bool { return matches(a.Username) }))
	default:
		p.List = "consumers"
		grants, err := v.Credentials.Consumers(v.r.Context())
		if err != nil {
			return err
		}
		var shown []adapter.Grant
		shown, p.Pager = paginate(v, selected(grants, func(g *adapter.Grant) bool { return matches(g.Consumer.Name, g.Consumer.Key) }))
		for _, g := range shown {
			row := consumerRow{Grant: g}
			if len(g.Tokens) > maxShownTokens {
				row.Tokens, row.More = g.Tokens[len(g.Tokens)-maxShownTokens:], len(g.Tokens)-maxShownTokens
			}
			p.Consumers = append(p.Consumers, row)
		}
	}
	return v.show(http.StatusOK, "credentials", "Credentials", p)
}

// A secret is a value that is shown once.
type secret struct{ Label, Value string }

// showSecrets shows new credentials. The page is not stored anywhere.
func (v *visit) showSecrets(title, list string, all ...secret) error {
	v.path = credentialsPath
	return v.show(http.StatusOK, "secrets", title, struct {
		Back string
		All  []secret
	}{credentialsPath + "?list=" + list, all})
}

// backToList leads to a list of credentials after a change.
func (v *visit) backToList(list, notice string) error {
	return v.redirect(credentialsPath+"?"+url.Values{"list": {list}}.Encode(), notice)
}

// field returns a field of the form without blanks around it.
func (v *visit) field(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// required returns a field of the form that must not be empty.
func (v *visit) required(name, what string) (string, error) {
	text := v.field(name)
	if text == "" {
		return "", Refusal("Give " + what + ".")
	}
	return text, nil
}

// id returns a field of the form that is an id.
func (v *visit) id(name string) (int64, error) {
	id, err := strconv.ParseInt(v.field(name), 10, 64)
	if err != nil || id < 1 {
		return 0, Refusal("Give the id as a positive number.")
	}
	return id, nil
}

// shownChars is the number of characters of a key or token that the log gets.
const shownChars = 8

// shorten returns the beginning of a key or token.
func shorten(text string) string { return text[:min(len(text), shownChars)] }

func addConsumer(v *visit) error {
	name, err := v.required("name", "the program a name")
	if err != nil {
		return err
	}
	added, err := v.Credentials.AddConsumer(v.r.Context(), name, v.field("callback"))
	if err != nil {
		return err
	}
	v.audit("add consumer", "consumer", shorten(added.Key))
	return v.showSecrets("New program: "+added.Name, "consumers", secret{"Consumer key", added.Key}, secret{"Consumer secret", added.Secret})
}

func addToken(v *visit) error {
	key, err := v.required("consumer", "the key of the program")
	if err != nil {
		return err
	}
	id, err := v.id("id")
	if err != nil {
		return err
	}
	admin, customer := id, int64(0)
	if v.field("as") == "customer" {
		admin, customer = 0, id
	}
	added, err := v.Credentials.AddToken(v.r.Context(), key, admin, customer)
	if err != nil {
		return err
	}
	v.audit("add token", "consumer", shorten(key), "token", shorten(added.Token), "admin", admin, "customer", customer)
	return v.showSecrets("New token", "consumers", secret{"Consumer key", key}, secret{"Token", added.Token}, secret{"Token secret", added.Secret})
}

func addKey(v *visit) error {
	name, err := v.required("name", "the client a name")
	if err != nil {
		return err
	}
	username, customer := v.field("username"), int64(0)
	if v.field("as") == "customer" {
		username = ""
		if customer, err = v.id("id"); err != nil {
			return err
		}
	}
	added, text, err := v.Credentials.AddKey(v.r.Context(), name, username, customer)
	if err != nil {
		return err
	}
	v.audit("add key", "key", added.ID, "admin", added.AdminID, "customer", customer)
	return v.showSecrets("New API key: "+added.Name, "keys", secret{"Key", text})
}

func addAdmin(v *visit) error {
	username, err := v.required("username", "the administrator a name")
	if err != nil {
		return err
	}
	id, err := v.Credentials.AddAdmin(v.r.Context(), username, v.r.PostForm.Get("password"))
	if err != nil {
		return err
	}
	v.audit("add administrator", "admin", id)
	return v.backToList("admins", "admin-added")
}

func removeConsumer(v *visit) error {
	key := v.field("consumer")
	tokens, err := v.Credentials.RemoveConsumer(v.r.Context(), key)
	if err != nil {
		return err
	}
	v.audit("remove consumer", "consumer", shorten(key), "tokens", tokens)
	return v.backToList("consumers", "consumer-removed")
}

func revokeToken(v *visit) error {
	token := v.field("token")
	if err := v.Credentials.RevokeToken(v.r.Context(), token); err != nil {
		return err
	}
	v.audit("revoke token", "token", shorten(token))
	return v.backToList("consumers", "token-revoked")
}

func revokeKey(v *visit) error {
	id, err := v.id("key")
	if err != nil {
		return err
	}
	if err := v.Credentials.RevokeKey(v.r.Context(), id); err != nil {
		return err
	}
	v.audit("revoke key", "key", id)
	return v.backToList("keys", "key-revoked")
}

func disableAdmin(v *visit) error {
	id, err := v.Credentials.DisableAdmin(v.r.Context(), v.field("username"))
	if err != nil {
		return err
	}
	v.audit("disable administrator", "admin", id)
	return v.backToList("admins", "admin-disabled")
}

func enableAdmin(v *visit) error {
	id, err := v.Credentials.EnableAdmin(v.r.Context(), v.field("username"))
	if err != nil {
		return err
	}
	v.audit("enable administrator", "admin", id)
	return v.backToList("admins", "admin-enabled")
}
