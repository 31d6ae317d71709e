package redact

import (
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// OtherParameters stands for the names of parameters that the contract does not know.
const OtherParameters = "other"

const (
	// maxPairs is the number of pairs of a query whose names are shown.
	maxPairs = 64
	// maxName is the length in bytes of the longest encoded name that is looked at.
	maxName = 64
)

// ParameterNames returns the names of the parameters in a form-encoded query or body, each
// once, in the order of their first appearance and without indices, joined by commas.
func ParameterNames(form string) string {
	if form == "" {
		return ""
	}
	var room [16]string
	names := room[:0]
	for pair := range strings.SplitSeq(form[:min(len(form), maxPairs*(maxName+1))], "&") {
		if pair == "" {
			continue
		}
		if name := parameterName(pair); len(names) < maxPairs && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// parameterName returns the name of a pair as it is shown.
func parameterName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if len(name) > maxName {
		return OtherParameters
	}
	name, _, _ = strings.Cut(contract.FormDecode(name), "[")
	if isListModifier(name) || isOAuthParameter(name) {
		return name
	}
	return OtherParameters
}

func isListModifier(name string) bool {
	switch name {
	case "___store", "attrs", "category_id", "dir", "filter", "limit", "order", "page", "store", "type":
		return true
	}
	return false
}

func isOAuthParameter(name string) bool {
	switch name {
	case "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce",
		"oauth_version", "oauth_callback", "oauth_verifier":
		return true
	}
	return false
}

// ParameterName returns the decoded name of a parameter as it is shown: an unknown name is
// [Masked].
func ParameterName(name string) string {
	base, index, indexed := strings.Cut(name, "[")
	switch {
	case len(name) > maxName, !isListModifier(base) && !isOAuthParameter(base):
		return Masked
	case !indexed:
		return name
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(index, "]", ""), "[") {
		if (len(part) > 3 || !isDigits(part)) && !slices.Contains(contract.FilterWords(), part) {
			return base + "[" + Masked + "]"
		}
	}
	return name
}

// ParameterValue returns the decoded value of a parameter as it is shown. Values that
// determine how a list is cut and ordered, and how a call is signed, are shown as they are;
// of keys, tokens and nonces only the beginning; everything else is [Masked], an empty value
// excepted.
func ParameterValue(name, value string) string {
	switch {
	case value == "":
		return ""
	case name == "page", name == "limit", name == "oauth_timestamp":
		if isNumber(value) {
			return value
		}
	case name == "order", name == "dir":
		if isWord(value) {
			return value
		}
	case name == "oauth_version", name == "oauth_signature_method":
		if len(value) <= maxWord && strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == "" {
			return value
		}
	case name == "oauth_consumer_key", name == "oauth_token":
		if isKey(value) && len(value) > shownKeyLength {
			return value[:shownKeyLength] + "…"
		}
	case name == "oauth_nonce":
		const shown = 4
		if isKey(value) && len(value) > 2*shown {
			return value[:shown] + "…"
		}
	}
	return Masked
}
