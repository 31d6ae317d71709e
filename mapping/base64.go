package mapping

import (
	"encoding/base64"
	"strings"
)

// unspaced takes away what means nothing in base64.
var whitespaceRemover = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "")

// decodeBase64 returns the bytes of a text in base64 (product_parts 2.4, step 3):
// blanks, tabs and line breaks anywhere mean nothing, and the padding is complete
// or left out. ok is false for any other text, and for one without bytes.
func decodeBase64(text string) (content []byte, ok bool) {
	digits := whitespaceRemover.Replace(text)
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(digits, "=") {
		encoding = base64.StdEncoding
	}
	content, err := encoding.DecodeString(digits)
	return content, err == nil && len(content) > 0
}
