package adapter

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
)

// ErrMatchLimit is the cause of the error for a list whose conditions match patterns
// against more text than [Query.MatchBytes] allows. The query is at fault; the backend may
// be healthy.
var ErrMatchLimit = errors.New("the patterns of the list's conditions would be matched with too much text")

const (
	// longTextBytes is the length up to which a text is matched in one step, which takes
	// some milliseconds at worst.
	longTextBytes = 16 << 10
	// runesPerContextCheck is how many characters of a longer text are matched between two
	// checks of the context.
	runesPerContextCheck = 1 << 10
)

// An evaluation is the evaluation of a matcher's conditions on one record.
type evaluation struct {
	ctx     context.Context
	matcher *Matcher
	err     error // why the evaluation stopped; the results of its tests are then meaningless
}

// countText counts text that is about to be matched against a pattern, and reports whether
// the limit allows it.
func (e *evaluation) countText(text string) bool {
	if limit := e.matcher.matchBytes; e.matcher.matched.Add(int64(len(text))) > limit && limit > 0 {
		e.err = &Error{Kind: Unavailable, Op: "query", Err: ErrMatchLimit, RetryAfter: time.Second}
	}
	return e.err == nil
}

// matchesPattern reports whether re matches text.
func (e *evaluation) matchesPattern(re *regexp.Regexp, text string) bool {
	if !e.countText(text) {
		return false
	}
	if len(text) <= longTextBytes {
		return re.MatchString(text)
	}
	r := &contextReader{ctx: e.ctx, text: strings.NewReader(text)}
	matches := re.MatchReader(r)
	e.err = r.err
	return matches
}

// A contextReader reads a text until its context ends.
type contextReader struct {
	ctx  context.Context
	text *strings.Reader
	read int
	err  error // the context's error, reported to the reader as the end of the text
}

// ReadRune returns the next character.
func (r *contextReader) ReadRune() (character rune, size int, err error) {
	if r.read++; r.read%runesPerContextCheck == 0 {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}
