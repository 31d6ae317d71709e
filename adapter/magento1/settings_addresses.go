package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// regional returns the settings of times and dates, which the legacy store reads in the default scope
// (configurations 1).
func (d settingsReader) regional(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	zone := config.setting("store.timezone", pathTimezone)
	if _, err := time.LoadLocation(zone.Value); err != nil || zone.Value == "" || zone.Value == "Local" {
		zone.refuse("UTC", "is no time zone that is known here: UTC counts")
	}
	locale := config.setting("store.locale", pathLocale)
	if !localeCode.MatchString(locale.Value) {
		locale.refuse("en_US", "is no locale: en_US counts")
	}
	return []Setting{zone, locale}, nil
}

// localeCode matches the codes of locales, as the setting store.locale does.
var localeCode = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?$`)

// headerName matches the names of headers, as the setting offloader_header does.
var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

// addresses returns the settings of the addresses in replies, which the legacy store reads in the
// default scope (configurations 2). A setting whose value follows from the ones before it is empty.
func (d settingsReader) addresses(ctx context.Context, tx *sql.Tx) ([]Setting, error) {
	config, err := readConfiguration(ctx, d.conn, tx)
	if err != nil {
		return nil, err
	}
	public := config.address("public_url", pathSecureURL)
	if plain := config.address("", pathBaseURL); plain.Value != "" && public.Value != "" && pathOf(plain.Value) != pathOf(public.Value) {
		public.Warning = "the legacy store is at " + plain.Value + ", too, whose path differs: Portico serves the path of public_url alone"
	}
	linkPath := pathLinkURL
	if inAdmin, _ := config.get(pathSecureInAdmin); isSet(inAdmin) {
		linkPath = pathSecureLinkURL
	}
	link := config.address("store.link_url", linkPath)
	media, secureMedia := config.address("store.media_url", pathMediaURL), config.address("store.secure_media_url", pathSecureMediaURL)
	usual := ""
	if public.Value != "" {
		usual = public.Value + "/media"
	}
	link.follow(public.Value)
	secureMedia.follow(cmp.Or(media.Value, usual))
	media.follow(usual)
	code := config.setting("store.code_in_links", pathStoreInURL)
	code.Value = strconv.FormatBool(isSet(code.Value))
	header := config.setting("offloader_header", pathOffloader)
	if name, isVariable := strings.CutPrefix(header.Value, "HTTP_"); isVariable { // as PHP calls a header
		header.Value = strings.ReplaceAll(name, "_", "-")
	}
	if !headerName.MatchString(header.Value) {
		header.refuse("", "is no name of a header: Portico reads none")
	}
	return []Setting{public, header, link, code, media, secureMedia}, nil
}

// setting returns a setting with the value of the default scope.
func (c *configuration) setting(name, path string) Setting {
	value, from := c.get(path)
	return Setting{Name: name, Value: strings.TrimSpace(value), From: from}
}

// refuse replaces a value that Portico's setting cannot have, and says so.
func (s *Setting) refuse(value, why string) {
	s.Warning = strconv.Quote(s.Value) + " " + why
	s.Value = value
}

// address returns a setting with an address, without a slash at its end. It is empty where the legacy
// store takes the host of each request.
func (c *configuration) address(name, path string) Setting {
	s := c.setting(name, path)
	for placeholder, base := range map[string]string{"{{unsecure_base_url}}": pathBaseURL, "{{secure_base_url}}": pathSecureURL} {
		if rest, below := strings.CutPrefix(s.Value, placeholder); below {
			of := c.setting("", base)
			s.Value = strings.TrimRight(of.Value, "/") + "/" + strings.TrimLeft(rest, "/")
			s.From += ", " + of.From
			break
		}
	}
	if strings.HasPrefix(s.Value, "{{base_url}}") {
		s.Value = ""
		return s
	}
	u, err := url.Parse(s.Value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(s.Value, "?#{}") {
		if err == nil {
			s.Value = u.Redacted()
		}
		s.refuse("", "is no address that begins with http:// or https://: Portico takes its own")
	}
	s.Value = strings.TrimRight(s.Value, "/")
	return s
}

// pathOf returns the path of an address that address has accepted.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// follow empties an address that is the one which Portico takes without the setting, and warns of one
// that is empty although Portico takes another.
func (s *Setting) follow(without string) {
	switch {
	case s.Value == without:
		s.Value = ""
	case s.Value == "" && s.Warning == "":
		s.Warning = "the legacy store takes the host of each request here: Portico takes " + without
	}
}

// isSet reports whether a value of the legacy store's configuration sets a flag.
func isSet(value string) bool {
	value = strings.TrimSpace(value)
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}
