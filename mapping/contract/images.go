package contract

// Limits and names of new images (contract 5.5; product_parts 2.4 and 2.5).

// An ImageType is a media type that the client may declare for an image. The file name
// gets the extension whatever the content is.
type ImageType struct{ MediaType, Extension string }

// ImageTypes returns the types that dialect d accepts. Media types are case-sensitive.
func ImageTypes(d *Dialect) []ImageType {
	types := []ImageType{{"image/jpg", "jpg"}, {"image/jpeg", "jpg"}, {"image/gif", "gif"}, {"image/png", "png"}}
	all := both(types).inOpenMage(append(types, ImageType{"image/webp", "webp"}))
	return all.of(d)
}

// ImageUses returns the values of an image's field types: the places in which the shop
// shows the image (contract 3.6).
func ImageUses() []string { return []string{"image", "small_image", "thumbnail"} }

const (
	// DefaultImageName is the name of an image that is sent without one.
	DefaultImageName = "image"
	// FallbackImageName is the name of an image whose own name has no characters that are
	// allowed in a file name.
	FallbackImageName = "file"
	// ArrayImageName is the name of an image whose name is sent as a list, with
	// [Dialect.CastsLists].
	ArrayImageName = "Array"
	// MaxImageNameBytes limits the name that is sent plus its extension: the original's
	// limit for file names, less the suffix that its storage adds.
	MaxImageNameBytes = 250
	// MaxImagePosition is the greatest position; greater numbers are cut to it
	// (product_parts 2.3).
	MaxImagePosition = 1<<32 - 1
)
