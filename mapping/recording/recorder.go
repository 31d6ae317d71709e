package recording

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/mask"
)

// What becomes of an exchange that was chosen.
const (
	Written    = "written"
	Dropped    = "dropped"    // there was no place for it, or it could not be written
	Limited    = "limited"    // beyond the rate, the size of all files or of a body
	Unreadable = "unreadable" // nothing of it may be kept, or it broke off
)

// Outcomes lists what becomes of exchanges.
func Outcomes() []string { return []string{Written, Dropped, Limited, Unreadable} }

// Options are what [NewRecorder] needs.
type Options struct {
	Dir string // is made when it is missing
	// Instance is part of the files' names.
	Instance string
	Mask     *mask.Masker
	// Bases are the base URLs besides that of the request which stand for a
	// placeholder in files.
	Bases []string
	// BasePath is what stands before the paths of the shop, "" for a shop at the root:
	// files leave it out.
	BasePath string
	// Sample is the share of the exchanges that are chosen, PerSecond how many of
	// them are written in a second in the long run.
	Sample, PerSecond float64
	// MaxBytes bounds all files of exchanges in Dir together, those of others
	// included as far as they were there at the start or when a file was ended.
	MaxBytes int64
	// BodyBytes bounds a body, in bytes: exchanges with longer ones are not written.
	BodyBytes int
	// Every is how old an exchange may be before it is in a file, 0 for some
	// seconds.
	Every time.Duration
	Count func(outcome string)
	Log   *slog.Logger
}

const (
	fileBytes   = 1 << 20 // of one file, after which another begins
	waiting     = 256     // exchanges that wait to be written
	longest     = 8 << 20 // bytes of an exchange in a file, of which the suite reads 16 MiB
	usualPeriod = 3 * time.Second
	complainGap = time.Minute
)

// A Recorder writes a sample of the exchanges to files. It is an [exchange.Watcher].
type Recorder struct {
	Options
	limit *rate.Limiter
	full  atomic.Bool // the files have reached their bound
	queue chan *exchange.Exchange

	stop    chan struct{}
	stopped chan error
	closing sync.Once
	closed  error

	// What follows is the writing goroutine's own.
	folder *folder
	number int // of exchanges so far
}

// NewRecorder starts a recorder, which Close ends. It fails where Dir cannot be made
// or looked into.
func NewRecorder(o Options) (*Recorder, error) {
	f, err := openFolder(o.Dir, o.Instance)
	if err != nil {
		return nil, err
	}
	if o.Every == 0 {
		o.Every = usualPeriod
	}
	r := &Recorder{
		Options: o,
		limit:   rate.NewLimiter(rate.Limit(o.PerSecond), int(math.Ceil(o.PerSecond))),
		queue:   make(chan *exchange.Exchange, waiting),
		stop:    make(chan struct{}),
		stopped: make(chan error, 1),
		folder:  f,
	}
	r.full.Store(f.total >= o.MaxBytes)
	go r.run()
	return r, nil
}

// Wants chooses the sample.
func (r *Recorder) Wants(*http.Request, *contract.Address) exchange.Want {
	if r.Sample < 1 && rand.Float64() >= r.Sample {
		return exchange.Nothing
	}
	if r.full.Load() || !r.limit.Allow() {
		r.Count(Limited)
		return exchange.Nothing
	}
	return exchange.Bodies
}

// Saw hands an exchange over to be written.
func (r *Recorder) Saw(e *exchange.Exchange) {
	select {
	case r.queue <- e:
	default:
		r.Count(Dropped)
	}
}

// Close writes what has been handed over, and ends the recorder. Its error is that
// of the last file.
func (r *Recorder) Close() error {
	r.closing.Do(func() {
		close(r.stop)
		r.closed = <-r.stopped
	})
	return r.closed
}

// run writes exchanges until the recorder is closed.
func (r *Recorder) run() {
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	complain := complaints{log: r.Log, gap: complainGap}
	write := func() error {
		written, dropped, err := r.folder.write()
		r.count(Written, written)
		r.count(Dropped, dropped)
		if err != nil {
			complain.about("recorded exchanges cannot be written: free space in record.dir, or stop recording", err)
		}
		r.full.Store(r.folder.total >= r.MaxBytes)
		return err
	}
	for {
		select {
		case e := <-r.queue:
			r.take(e)
			if r.folder.isLong() {
				_ = write() // told in the log
			}
		case <-tick.C:
			_ = write()
		case <-r.stop:
			for len(r.queue) > 0 {
				r.take(<-r.queue)
			}
			r.stopped <- write()
			return
		}
	}
}

// take makes what is to be written of an exchange.
func (r *Recorder) take(e *exchange.Exchange) {
	c, err := converse(&r.Options, e)
	switch {
	case errors.Is(err, errTooLong):
		r.Count(Limited)
		return
	case err != nil:
		r.Count(Unreadable)
		return
	}
	r.number++
	c.Name = name(e, r.number)
	text, err := marshal(c)
	switch {
	case err != nil:
		r.Count(Unreadable)
	case len(text) > longest, r.folder.total+int64(len(text)) > r.MaxBytes:
		r.Count(Limited)
	default:
		r.folder.add(text)
	}
}

func (r *Recorder) count(outcome string, n int) {
	for range n {
		r.Count(outcome)
	}
}

// complaints are lines in the log, of which there is at most one in a while.
type complaints struct {
	log  *slog.Logger
	gap  time.Duration
	last time.Time
}

func (c *complaints) about(what string, err error) {
	if now := time.Now(); c.last.IsZero() || now.Sub(c.last) >= c.gap {
		c.last = now
		c.log.Error(what, "error", err)
	}
}

// marshal returns the JSON of a value as people read it.
func marshal(v any) ([]byte, error) {
	var b jsonBuffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(v)
	return b, err
}

type jsonBuffer []byte

// Write appends p.
func (b *jsonBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }
