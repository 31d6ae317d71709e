package resource

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// LinkSettings are the settings of the addresses in replies (configurations 2).
type LinkSettings struct {
	// PublicURL is the base URL of the service. If it is empty, replies use the scheme and the Host
	// header of each request.
	PublicURL string
	// LinkURL is the base URL of the pages of the shop; "" stands for that of the service.
	LinkURL string
	// CodeInLinks: addresses of pages have the code of the default scope behind index.php.
	CodeInLinks bool
	// SingleStoreMode: rewritten addresses do not name the store view while there is only one.
	SingleStoreMode bool
	// MediaURL is the address of the folder media, and SecureMediaURL that in replies to requests over
	// https. Without SecureMediaURL it is MediaURL; without both the folder is below the base URL of the
	// service.
	MediaURL, SecureMediaURL string
}

// MediaFolder is the folder of images below the base URL of the service.
const MediaFolder = "/media"

// Links builds the addresses in replies. It is safe for concurrent use.
type Links struct {
	public, page       string // "": of the request
	pageFolder         string
	media, secureMedia string // "": below the base URL
	settings           LinkSettings
}

// NewLinks returns the links of a shop.
func NewLinks(s LinkSettings) *Links {
	l := &Links{public: withoutSlash(s.PublicURL), pageFolder: "/index.php", settings: s}
	if s.CodeInLinks {
		l.pageFolder += "/" + AdminStore
	}
	if base := cmp.Or(withoutSlash(s.LinkURL), l.public); base != "" {
		l.page = base + l.pageFolder
	}
	if l.media = withoutSlash(s.MediaURL); l.media == "" && l.public != "" {
		l.media = l.public + MediaFolder
	}
	l.secureMedia = cmp.Or(withoutSlash(s.SecureMediaURL), l.media)
	return l
}

func withoutSlash(address string) string { return strings.TrimRight(address, "/") }

// Base returns the base URL of the service in the reply to c, without a trailing slash.
func (l *Links) Base(c *Call) string { return c.BaseURL(l.public) }

// Page returns the address of a page of the shop in the reply to c. Its path begins with a slash.
func (l *Links) Page(c *Call, path string) string {
	if l.page != "" {
		return l.page + path
	}
	return c.Scheme + "://" + c.HTTP.Host + l.pageFolder + path
}

// Rewritten returns the address of a page of the shop at a store view, in the reply to c. path is the
// rewritten one, without a slash in front. The address names the store view: with CodeInLinks in its
// path, otherwise in its query (openmage 3).
func (l *Links) Rewritten(c *Call, path string, shop *Shop, view StoreView) string {
	base := strings.TrimSuffix(l.Page(c, ""), "/"+AdminStore)
	switch {
	case l.settings.CodeInLinks:
		return base + "/" + view.Code + "/" + path
	case l.settings.SingleStoreMode && len(shop.Views) == 1:
		return base + "/" + path
	}
	return base + "/" + path + "?___store=" + view.Code
}

// Media returns the address of a file in the reply to c: path is that of its folder in the folder media,
// from a slash to a slash.
func (l *Links) Media(c *Call, path, file string) string {
	folder := l.media
	if c.IsSecure() {
		folder = l.secureMedia
	}
	if folder != "" {
		return folder + path + file
	}
	return c.Scheme + "://" + c.HTTP.Host + MediaFolder + path + file
}

// ServedMediaFolders returns the paths, below the base URL of the service, of the folders in which
// replies say that images are: the usual one, and those of addresses at the host of the service.
func (s LinkSettings) ServedMediaFolders() []string {
	folders := []string{MediaFolder}
	public, err := url.Parse(withoutSlash(s.PublicURL))
	if err != nil || public.Host == "" {
		return folders
	}
	for _, address := range []string{s.MediaURL, s.SecureMediaURL} {
		media, err := url.Parse(withoutSlash(address))
		if err != nil || !strings.EqualFold(media.Hostname(), public.Hostname()) {
			continue
		}
		folder, below := strings.CutPrefix(media.Path, public.Path)
		if below && (folder == "" || folder[0] == '/') && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
