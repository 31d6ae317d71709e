package contract

// What an image that is created may be, and what it is called (contract 5.5;
// product_parts 2.4 and 2.5).

// An ImageType is a media type that an image may be declared to have. The
// extension ends the name of its file, whatever the image is.
type ImageType struct{ MediaType, Extension string }

// ImageTypes lists them. Names are compared as they stand, letter case included.
func ImageTypes() []ImageType {
	return []ImageType{{"image/jpg", "jpg"}, {"image/jpeg", "jpg"}, {"image/gif", "gif"}, {"image/png", "png"}}
}

// ImageUses lists what an image may be shown as, the values of its field types
// (contract 3.6).
func ImageUses() []string { return []string{"image", "small_image", "thumbnail"} }

const (
	// UnnamedImage is the name of an image that is sent without one.
	UnnamedImage = "image"
	// EffacedImage is the name of an image of whose own nothing is left that a file
	// may be called.
	EffacedImage = "file"
	// ListedImage is the name of an image whose name is sent as a list, in the
	// dialects that take one.
	ListedImage = "Array"
	// LongestImageName bounds the name sent and its extension, in bytes: what the
	// original can give a file, less what its storage adds.
	LongestImageName = 250
	// GreatestImageNumber is the greatest position, and what a greater one counts
	// as (product_parts 2.3).
	GreatestImageNumber = 1<<32 - 1
)
