package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/redact"
)

const (
	// maxLoggedBase is the number of bytes of a base string that are logged.
	maxLoggedBase = 2 << 10
	// maxLoggedNames is the number of parameters whose names are logged.
	maxLoggedNames = 32
	// maxLoggedOrigin is the number of bytes of an origin that are logged.
	maxLoggedOrigin = 256
)

// logRefusal logs at debug level why r was refused with err, and the base string that the client
// should have signed. c may be nil if the parameters could not be read. The log line does not help
// to sign or to repeat a request, and values that may be personal are masked.
func (a *Authenticator) logRefusal(ctx context.Context, r *Request, c *call, err error) {
	var refusal *Problem
	if a.log == nil || !a.log.Enabled(ctx, slog.LevelDebug) || !errors.As(err, &refusal) && !errors.Is(err, ErrUnverifiable) {
		return
	}
	attributes := []slog.Attr{slog.String("method", beginning(strings.ToUpper(r.Method), maxLoggedOrigin))}
	if refusal != nil {
		attributes = append(attributes, slog.String("problem", refusal.Code))
		if refusal.Code == "parameter_absent" {
			_, name, _ := strings.Cut(refusal.Detail, "=")
			attributes = append(attributes, slog.String("absent", name))
		}
	}
	if c == nil {
		a.log.LogAttrs(ctx, slog.LevelDebug, "credentials refused", attributes...)
		return
	}
	signed := c.expectedParameters()
	var names []string
	for _, p := range signed[:min(len(signed), maxLoggedNames)] {
		names = append(names, redact.ParameterName(p.name))
	}
	attributes = append(attributes, slog.String("parameters", strings.Join(names, ",")))
	if c.oauth.text("oauth_signature_method") == methodHMAC {
		origins := a.candidateOrigins(r)
		attributes = append(attributes, slog.String("base_string", redactedBase(strings.ToUpper(r.Method), origins[0], c.path, signed)))
		for i, origin := range origins {
			origins[i] = beginning(origin, maxLoggedOrigin)
		}
		attributes = append(attributes, slog.Any("origins", origins))
	}
	a.log.LogAttrs(ctx, slog.LevelDebug, "credentials refused", attributes...)
}

// expectedParameters returns the parameters that a signature of c covers by RFC 5849, sorted.
func (c *call) expectedParameters() parameters {
	_ = c.readForm() // without the form the rest is still worth knowing
	rfc := rule{everyPair: true}
	all := c.signed(rfc)
	normalize(all, rfc)
	return all
}

// redactedBase returns the base string for an origin, a path and sorted parameters. A mask or an
// ellipsis in it is not escaped, and replaces the text that package redact hides.
func redactedBase(method, origin, path string, sorted parameters) string {
	base := []byte(beginning(method, maxLoggedOrigin) + "&")
	base = appendEscaped(base, beginning(origin, maxLoggedOrigin))
	base = append(base, unescapeMask.Replace(string(appendEscaped(nil, redact.Path(path))))...)
	base = append(base, '&')
	for i, p := range sorted {
		if len(base) > maxLoggedBase {
			break
		}
		if i > 0 {
			base = append(base, "%26"...)
		}
		pair := appendEscapedTwice(nil, redact.ParameterName(p.name))
		pair = append(pair, "%3D"...)
		pair = appendEscapedTwice(pair, redact.ParameterValue(p.name, p.value))
		base = append(base, unescapeMask.Replace(string(pair))...)
	}
	return beginning(string(base), maxLoggedBase)
}

// unescapeMask restores masks and ellipses, which the shown parts of requests do not contain,
// after they have been escaped once or twice.
var unescapeMask = strings.NewReplacer("%252A", redact.Masked, "%2A", redact.Masked, "%25E2%2580%25A6", "…", "%E2%80%A6", "…")

// beginning returns at most so many bytes of a text, with an ellipsis in place of the rest.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// A Problem is the reason why credentials are rejected (wire 12). The status of the reply is 401
// for API calls; the token endpoints reply with Status.
type Problem struct {
	Code   string // "parameter_absent"
	Detail string // such as "oauth_parameters_absent=oauth_token", or ""
}

// Error returns the message of the reply: "oauth_problem=" and the code and, if there is a
// detail, an ampersand and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return "oauth_problem=" + p.Code
	}
	return "oauth_problem=" + p.Code + "&" + p.Detail
}

// Status returns the HTTP status at the token endpoints (wire 13).
func (p *Problem) Status() int {
	switch p.Code {
	case "version_rejected", "parameter_absent", "parameter_rejected", "timestamp_refused", "signature_method_rejected":
		return http.StatusBadRequest
	case "internal_error":
		return http.StatusInternalServerError
	default:
		return http.StatusUnauthorized
	}
}

func problem(code string) error { return &Problem{Code: code} }

func parameterAbsent(name string) error {
	return &Problem{Code: "parameter_absent", Detail: "oauth_parameters_absent=" + name}
}

// parameterRejected takes a name chosen by the caller, which may contain any bytes.
func parameterRejected(name string) error {
	return &Problem{Code: "parameter_rejected", Detail: "message=" + strings.ToValidUTF8(name, "\uFFFD")}
}

func internalProblem(message string) error {
	return &Problem{Code: "internal_error", Detail: "message=" + message}
}
