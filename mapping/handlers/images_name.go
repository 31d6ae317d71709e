package handlers

import (
	"regexp"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// imageName returns the name that was sent for an image, or a default; named reports
// whether one was sent.
func imageName(d *contract.Dialect, n *codec.Node) (name string, named bool) {
	switch {
	case !input.Truthy(n):
		return contract.DefaultImageName, false
	case n.Kind != codec.Struct:
		return n.String(), true
	case d.CastsLists:
		return contract.ArrayImageName, true
	default:
		return contract.DefaultImageName, false
	}
}

var invalidFileChars = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// imageFile returns the path below the media folder for an image file with the given
// name, before it is made unique (product_parts 2.5). ok is false if name contains a
// slash or NUL, or is too long.
func imageFile(name, extension string) (path string, ok bool) {
	if strings.ContainsAny(name, "/\x00") || len(name)+len(".")+len(extension) > contract.MaxImageNameBytes {
		return "", false
	}
	cleaned := invalidFileChars.ReplaceAllString(name, "_")
	if strings.Trim(cleaned, "_") == "" {
		cleaned = contract.FallbackImageName
	}
	file := cleaned + "." + extension
	// A folder named "." or ".." would be a different folder.
	folders := strings.ReplaceAll(file[:2], ".", "_")
	return folders[:1] + "/" + folders[1:] + "/" + file, true
}
