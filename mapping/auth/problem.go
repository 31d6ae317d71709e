package auth

import (
	"net/http"
	"strings"
)

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
