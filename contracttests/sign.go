package contracttests

import (
	"errors"
	"strconv"
	"strings"
)

// SignRequest returns the header lines, such as "Authorization: OAuth …", that authenticate one
// request as the caller named as. The URL is as in the request line, in the same encoding; form
// is the body if its media type is application/x-www-form-urlencoded, and "" otherwise. A
// signature is good for one request.
func (c Credentials) SignRequest(as, method, url, form string) ([]string, error) {
	if !c.token(as).isSet() {
		return nil, errors.New("there are no credentials for " + strconv.Quote(as) + ": give one of " + Admin + ", " + Customer1 + " and " + Customer2 + " that has some")
	}
	scheme, rest, ok := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	if !ok || scheme != "http" && scheme != "https" || host == "" {
		return nil, errors.New("the URL must be that of the request, such as https://shop.example/api/rest/products")
	}
	r := request{method: method, target: "/" + path, host: host}
	if form != "" {
		r.body = &form
		r.headers = []header{{"Content-Type", "application/x-www-form-urlencoded"}}
	}
	var lines []string
	for _, h := range c.headers(as, server{scheme: scheme, host: host}, &r) {
		lines = append(lines, h.name+": "+h.value)
	}
	return lines, nil
}

// signedURL returns the URL of a request for [Credentials.SignRequest].
func signedURL(srv server, r *request) string {
	target := r.target
	if isAbsolute(target) {
		_, target, _ = strings.Cut(target, "://")
		_, path, _ := strings.Cut(target, "/")
		target = "/" + path
	}
	return srv.scheme + "://" + r.host + target
}
