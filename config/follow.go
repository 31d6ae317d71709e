package config

import (
	"errors"
	"regexp"
	"strings"
	"time"
)

// Follow configures how "portico serve" follows the old shop's database. Without DSN it does
// not.
type Follow struct {
	DSN, Prefix, Charset string
	Source               string
	OldTLS               bool
	Rate                 int // rows per second; 0: no maximum
	Media                string
	PollOnly             bool // the binary log is not read
	Interval, Overlap    time.Duration
	ComparePeriod        time.Duration
	Wait                 time.Duration // 0: replies to writes do not wait
}

// followSettings returns the settings for following an old shop.
func followSettings() []Setting {
	const shortest, longest = int64(100 * time.Millisecond), int64(time.Hour)
	return []Setting{
		{Name: "follow.dsn", Kind: Text, Secret: true, Valid: validFollowDSN,
			Help: "The old shop's database, mysql:user:password@tcp(host:3306)/database, which one of all processes of portico serve follows: it takes over what changes there. The store must have been filled from it by portico import. Empty: none follows."},
		{Name: "follow.prefix", Kind: Text, Valid: matchPattern(`[A-Za-z0-9_]{0,32}`, "must have at most 32 letters, digits and underscores"),
			Help: "Prefix of the table names there."},
		{Name: "follow.source", Kind: Text, Valid: matchPattern(`[A-Za-z0-9_-]{0,64}`, "must have at most 64 letters, digits, underscores and hyphens"),
			Help: "Name under which the store notes the old shop, as portico import --source has it: that of an earlier import if the shop has moved to another server since. Empty: one made from the server and the database."},
		{Name: "follow.charset", Kind: Text,
			Help: "Encoding that texts there really have if the tables claim another one, such as windows-1252, as portico import --charset has it."},
		{Name: "follow.old_tls", Kind: Bool, Default: "false",
			Help: "Whether TLS 1.0 and 1.1 of an old database server are accepted, for a DSN with tls=."},
		{Name: "follow.rate", Kind: Int, Default: "0", Min: 0, Max: 100_000_000,
			Help: "Maximum average number of rows per second that comparisons of everything read there, to spare the running shop. Changes that the old shop dates do not wait for it. Too low: a comparison takes longer than follow.compare_period. 0: no limit."},
		{Name: "follow.media", Kind: Text,
			Help: "Where the files of images are: the old shop's media folder, its http(s) URL, or a .tar or .tar.gz of it. Empty: new images come without bytes."},
		{Name: "follow.mode", Kind: Choice, Default: "auto", Choices: []string{"auto", "polling"},
			Help: "How Portico learns what has changed there. auto: from the server's binary log, if that can be read, and else by polling; portico follow --check says what is missing. polling: without the log."},
		{Name: "follow.interval", Kind: Duration, Default: "5s", Min: shortest, Max: longest,
			Help: "Time between two polls for what the old shop has dated as changed. With the binary log changes arrive at once."},
		{Name: "follow.overlap", Kind: Duration, Default: "1m", Min: int64(time.Second), Max: longest,
			Help: "How long before the last poll a poll looks back. Set it to longer than the clocks of the old shop's servers differ and than its transactions take. What a poll misses is found within follow.compare_period."},
		{Name: "follow.compare_period", Kind: Duration, Default: "10m", Min: int64(time.Second), Max: 168 * longest,
			Help: "Time over which one comparison of everything is spread, also with the binary log. It finds what polling does not, such as deletions and changes that the old shop does not date: no change arrives later than that, unless follow.rate is too low."},
		{Name: "follow.wait", Kind: Duration, Default: "2s", Min: 0, Max: int64(time.Minute),
			Help: "How long the reply of the legacy system to a write may wait until its changes are here: then clients read here what they have written there. 0: replies do not wait."},
	}
}

// validFollowDSN accepts DSNs of MySQL. Its error does not repeat the text, which may contain
// a password.
func validFollowDSN(text string) error {
	if text != "" && (!strings.HasPrefix(text, "mysql:") || !regexp.MustCompile(`/[^/?]+(\?.*)?$`).MatchString(text)) {
		return errors.New("must be mysql:user:password@tcp(host:3306)/database")
	}
	return nil
}

func newFollow(v values) Follow {
	return Follow{
		DSN: get[string](v, "follow.dsn"), Prefix: get[string](v, "follow.prefix"), Charset: get[string](v, "follow.charset"), Source: get[string](v, "follow.source"), OldTLS: get[bool](v, "follow.old_tls"),
		Rate: int(get[int64](v, "follow.rate")), Media: get[string](v, "follow.media"), PollOnly: get[string](v, "follow.mode") == "polling",
		Interval: get[time.Duration](v, "follow.interval"), Overlap: get[time.Duration](v, "follow.overlap"), ComparePeriod: get[time.Duration](v, "follow.compare_period"),
		Wait: get[time.Duration](v, "follow.wait"),
	}
}
