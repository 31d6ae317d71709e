package importer

import (
	"context"
	"slices"
)

// An ahead reads files from a source before they are requested, if reading several at a time is
// faster. It is not safe for concurrent use.
type ahead struct {
	source  *source
	files   []string // files that will probably be requested, in this order
	last    int      // the index of the file that was requested last
	started map[string]*readAhead
}

// A readAhead is the result of reading a file in the background. done is closed when it is there.
type readAhead struct {
	done    chan struct{}
	content []byte
	err     error
}

// Ahead returns a reader of files that will probably be requested in this order. It reads ahead
// only while they are: skipped files are probably not wanted.
func (s *source) Ahead(files []string) *ahead {
	return &ahead{source: s, files: files, last: -1, started: map[string]*readAhead{}}
}

// Read is [Source.Read]. Reads in the background end with their contexts.
func (a *ahead) Read(ctx context.Context, file string) ([]byte, error) {
	if _, remote := a.source.files.(*web); !remote {
		return a.source.Read(ctx, file)
	}
	at := slices.Index(a.files, file)
	a.start(ctx, file)
	if at >= 0 && at == a.last+1 {
		for _, next := range a.files[at+1 : min(at+parallelRequests, len(a.files))] {
			a.start(ctx, next)
		}
	}
	a.last = at
	one := a.started[file]
	delete(a.started, file)
	select {
	case <-one.done:
		return one.content, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start begins to read a file in the background.
func (a *ahead) start(ctx context.Context, file string) {
	if a.started[file] != nil {
		return
	}
	one := &readAhead{done: make(chan struct{})}
	a.started[file] = one
	go func() {
		defer close(one.done)
		one.content, one.err = a.source.Read(ctx, file)
	}()
}
