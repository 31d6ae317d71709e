package config

import "time"

// Follow configures how "portico serve" follows the legacy store's database. Without DSN it
// does not.
type Follow struct {
	DSN           string        `setting:"follow.dsn" secret:"true" pattern:"(?:mysql:(?s:.*)/[^/?]+(?:[?].*)?)?" must:"be mysql:user:password@tcp(host:3306)/database" help:"The legacy store's database, mysql:user:password@tcp(host:3306)/database, which one of all processes of portico serve follows: it takes over what changes there. The store must have been filled from it by portico import. Empty: none follows."`
	Prefix        string        `setting:"follow.prefix" pattern:"[A-Za-z0-9_]{0,32}" must:"have at most 32 letters, digits and underscores" help:"Prefix of the table names there."`
	Source        string        `setting:"follow.source" pattern:"[A-Za-z0-9_-]{0,64}" must:"have at most 64 letters, digits, underscores and hyphens" help:"Name under which the store notes the legacy store, as portico import --source has it: that of an earlier import if the shop has moved to another server since. Empty: one made from the server and the database."`
	Charset       string        `setting:"follow.charset" help:"Encoding that texts there really have if the tables claim another one, such as windows-1252, as portico import --charset has it."`
	OldTLS        bool          `setting:"follow.old_tls" default:"false" help:"Whether TLS 1.0 and 1.1 of an old database server are accepted, for a DSN with tls=."`
	Rate          int           `setting:"follow.rate" default:"0" range:"0 100000000" help:"Maximum average number of rows per second that comparisons of everything read there, to spare the running shop. Changes that the legacy store dates do not wait for it. Too low: a comparison takes longer than follow.compare_period. 0: no limit."`
	Media         string        `setting:"follow.media" help:"Where the files of images are: the legacy store's media folder, its http(s) URL, or a .tar or .tar.gz of it. Empty: new images come without bytes."`
	Mode          string        `setting:"follow.mode" default:"auto" choices:"auto polling" help:"How Portico learns what has changed there. auto: from the server's binary log, if that can be read, and else by polling; portico follow --check says what is missing. polling: without the log."`
	Interval      time.Duration `setting:"follow.interval" default:"5s" range:"100ms 1h" help:"Time between two polls for what the legacy store has dated as changed. With the binary log changes arrive at once."`
	Overlap       time.Duration `setting:"follow.overlap" default:"1m" range:"1s 1h" help:"How long before the last poll a poll looks back. Set it to longer than the clocks of the legacy store's servers differ and than its transactions take. What a poll misses is found within follow.compare_period."`
	ComparePeriod time.Duration `setting:"follow.compare_period" default:"10m" range:"1s 168h" help:"Time over which one comparison of everything is spread, also with the binary log. It finds what polling does not, such as deletions and changes that the legacy store does not date: no change arrives later than that, unless follow.rate is too low."`
	Wait          time.Duration `setting:"follow.wait" default:"2s" range:"0s 1m" help:"How long the reply of the legacy store to a write may wait until its changes are here: then clients read here what they have written there. 0: replies do not wait."`
}

// PollOnly reports whether Portico polls the legacy store's tables instead of reading the
// binary log.
func (f Follow) PollOnly() bool { return f.Mode == "polling" }
