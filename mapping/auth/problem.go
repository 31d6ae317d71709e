package auth

import "strings"

// A Problem is why credentials are refused (wire 12). It is answered with 401.
type Problem struct {
	Code   string // "parameter_absent"
	Detail string // "oauth_parameters_absent=oauth_token", or "" for none
}

// Error returns the message of the reply: "oauth_problem=", the code and, after
// an ampersand, the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return "oauth_problem=" + p.Code
	}
	return "oauth_problem=" + p.Code + "&" + p.Detail
}

func problem(code string) error { return &Problem{Code: code} }

func parameterAbsent(name string) error {
	return &Problem{Code: "parameter_absent", Detail: "oauth_parameters_absent=" + name}
}

// parameterRejected takes a name the caller chose, which may be any bytes.
func parameterRejected(name string) error {
	return &Problem{Code: "parameter_rejected", Detail: "message=" + strings.ToValidUTF8(name, "\uFFFD")}
}

func internalProblem(message string) error {
	return &Problem{Code: "internal_error", Detail: "message=" + message}
}
