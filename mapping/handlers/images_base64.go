package handlers

import (
	"encoding/base64"
	"strings"
)

var whitespaceRemover = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "")

// decodeBase64 decodes a base64 text (product_parts 2.4, step 3). It ignores spaces, tabs
// and line breaks anywhere, and accepts complete or omitted padding. ok is false for any
// other text and for one that decodes to no bytes.
func decodeBase64(text string) (content []byte, ok bool) {
	digits := whitespaceRemover.Replace(text)
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(digits, "=") {
		encoding = base64.StdEncoding
	}
	content, err := encoding.DecodeString(digits)
	return content, err == nil && len(content) > 0
}
