package contracttests

import "fmt"

// The callers a [Step] may name in its field As.
const (
	Admin     = "admin"
	Customer1 = "customer_1"
	Customer2 = "customer_2"
	Guest     = "guest" // sends no credentials
)

// Credentials are what the seeded data set knows its callers by. The JSON form
// is that of the data set's "credentials" object.
type Credentials struct {
	Consumer  Consumer `json:"consumer"`
	Admin     Token    `json:"admin"`
	Customer1 Token    `json:"customer_1"`
	Customer2 Token    `json:"customer_2"`
}

// A Consumer is the OAuth client all callers share.
type Consumer struct {
	Key    string `json:"key"`
	Secret string `json:"secret"`
}

// A Token is the OAuth access token of one caller.
type Token struct {
	Token  string `json:"token"`
	Secret string `json:"secret"`
}

// Authorization returns the value of the Authorization header that signs a
// request of the caller called as with PLAINTEXT (wire 12). It is empty for
// [Guest] and for a name that is no caller.
func (c Credentials) Authorization(as string) string {
	var t Token
	switch as {
	case Admin:
		t = c.Admin
	case Customer1:
		t = c.Customer1
	case Customer2:
		t = c.Customer2
	default:
		return ""
	}
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", `+
		`oauth_token="%s", oauth_signature="%s%%26%s"`, c.Consumer.Key, t.Token, c.Consumer.Secret, t.Secret)
}
