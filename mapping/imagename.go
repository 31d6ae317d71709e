package mapping

import (
	"regexp"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// imageName returns the name that is sent for an image, and whether it was sent at
// all.
func imageName(d *contract.Dialect, n *codec.Node) (name string, named bool) {
	switch {
	case !truthy(n):
		return contract.UnnamedImage, false
	case n.Kind != codec.Struct:
		return n.String(), true
	case d.ListsCast:
		return contract.ListedImage, true
	default:
		return contract.UnnamedImage, false
	}
}

// foreign is what no image file has in its name, as far as it goes.
var invalidFileChars = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// imageFile returns the path below the media folder that an image of a name wants
// for its file (product_parts 2.5). ok is false for a name that no file can have:
// one with a slash, or one that is too long.
func imageFile(name, extension string) (path string, ok bool) {
	if strings.Contains(name, "/") || len(name)+len(".")+len(extension) > contract.LongestImageName {
		return "", false
	}
	cleaned := invalidFileChars.ReplaceAllString(name, "_")
	if strings.Trim(cleaned, "_") == "" {
		cleaned = contract.EffacedImage
	}
	file := cleaned + "." + extension
	// A folder called . or .. would be another.
	folders := strings.ReplaceAll(file[:2], ".", "_")
	return folders[:1] + "/" + folders[1:] + "/" + file, true
}
