package adapter

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
)

// ErrMatchLimit is the cause of the error for a list whose conditions would have
// patterns matched with more text than [Query.MatchBytes]. The query is at fault, and
// the upstream may be well.
var ErrMatchLimit = errors.New("the patterns of the list's conditions would be matched with too much text")

const (
	// longText is the length of a text, in bytes, up to which a pattern is matched at
	// once. It takes some milliseconds at worst.
	longText = 16 << 10
	// matchPause is after how many characters of a longer text the context is asked.
	matchPause = 1 << 10
)

// A look is one look of a matcher at a record.
type look struct {
	ctx     context.Context
	matcher *Matcher
	err     error // why the look ended; what the tests then say means nothing
}

// spend counts a text that a pattern is about to be matched with, and reports whether it
// may be.
func (l *look) spend(text string) bool {
	if limit := l.matcher.matchBytes; l.matcher.matched.Add(int64(len(text))) > limit && limit > 0 {
		l.err = &Error{Kind: Unavailable, Op: "query", Err: ErrMatchLimit, RetryAfter: time.Second}
	}
	return l.err == nil
}

// matches reports whether re matches text.
func (l *look) matches(re *regexp.Regexp, text string) bool {
	if !l.spend(text) {
		return false
	}
	if len(text) <= longText {
		return re.MatchString(text)
	}
	r := &pausingReader{ctx: l.ctx, text: strings.NewReader(text)}
	matches := re.MatchReader(r)
	l.err = r.err
	return matches
}

// A pausingReader reads a text until its context ends.
type pausingReader struct {
	ctx  context.Context
	text *strings.Reader
	read int
	err  error // that of the context, which the end of the text stands for
}

// ReadRune returns the next character.
func (r *pausingReader) ReadRune() (character rune, size int, err error) {
	if r.read++; r.read%matchPause == 0 {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}
