package recording

import (
	"cmp"
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
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/redact"
)

// Outcomes of an exchange that was selected for recording.
const (
	Written    = "written"
	Dropped    = "dropped"    // the queue was full, or writing failed
	Limited    = "limited"    // over the limit for the rate, the size of all files or a body
	Unreadable = "unreadable" // it cannot be masked, or it is incomplete
)

// Outcomes returns all outcomes.
func Outcomes() []string { return []string{Written, Dropped, Limited, Unreadable} }

// Options are the settings of [NewRecorder].
type Options struct {
	Dir string // created if it does not exist
	// Instance is part of the file names. It must be unique among running processes.
	Instance string
	Mask     *redact.Masker
	// Bases are base URLs that files replace with a placeholder, in addition to the request's.
	Bases []string
	// BasePath is the path of the shop, "" for a shop at the root. Files omit it from
	// paths.
	BasePath string
	Limits
	// Every is the maximum delay until an exchange is written, 0 for a default of a few
	// seconds.
	Every time.Duration
	Count func(outcome string)
	Log   *slog.Logger
}

// Limits bound the files of a [Recorder].
type Limits struct {
	// Sample is the share of exchanges that are selected, 0 to 1. PerSecond limits how
	// many of them are written per second on average.
	Sample, PerSecond float64
	// MaxBytes limits the total size of all files in Dir. Files of other processes count
	// with their size at the start or when a file was last completed.
	MaxBytes int64
	// BodyBytes is the maximum size of a body; longer exchanges are not written.
	BodyBytes int
}

const (
	fileBytes        = 1 << 20 // size of a file, after which a new one is started
	queueLength      = 256     // capacity of the queue
	maxExchangeBytes = 8 << 20 // maximum size of an exchange in a file; the suite reads up to 16 MiB
	defaultPeriod    = 3 * time.Second
	logInterval      = time.Minute
)

// A Recorder writes a sample of the exchanges to files. It is an [proxy.Watcher].
type Recorder struct {
	Options // its Limits are the limits at the start
	limits  atomic.Pointer[Limits]
	limit   *rate.Limiter
	written atomic.Int64 // total size of the files, as of the last write
	queue   chan *proxy.Exchange

	stop    chan struct{}
	stopped chan error
	closing sync.Once
	closed  error

	// The fields below belong to the writing goroutine.
	folder *folder
	number int // of exchanges so far, for their names
}

// NewRecorder starts a recorder, which Close stops. It fails if Dir cannot be created or
// read.
func NewRecorder(o Options) (*Recorder, error) {
	f, err := openFolder(o.Dir, o.Instance)
	if err != nil {
		return nil, err
	}
	o.Every = cmp.Or(o.Every, defaultPeriod)
	r := &Recorder{
		Options: o,
		limit:   rate.NewLimiter(rate.Limit(o.PerSecond), int(math.Ceil(o.PerSecond))),
		queue:   make(chan *proxy.Exchange, queueLength),
		stop:    make(chan struct{}),
		stopped: make(chan error, 1),
		folder:  f,
	}
	r.written.Store(f.total)
	r.limits.Store(&o.Limits)
	go r.run()
	return r, nil
}

// SetLimits changes the limits from the next exchange on. Exchanges that have been selected
// already count with the limits on sizes at the time when they are written.
func (r *Recorder) SetLimits(l Limits) {
	r.limits.Store(&l)
	r.limit.SetLimit(rate.Limit(l.PerSecond))
	r.limit.SetBurst(int(math.Ceil(l.PerSecond)))
}

// Wants selects the sample.
func (r *Recorder) Wants(*http.Request, *contract.Address) proxy.CopyWant {
	limits := r.limits.Load()
	if limits.Sample < 1 && rand.Float64() >= limits.Sample {
		return proxy.WantNothing
	}
	if r.written.Load() >= limits.MaxBytes || !r.limit.Allow() {
		r.Count(Limited)
		return proxy.WantNothing
	}
	return proxy.Bodies
}

// Observe queues an exchange to be written.
func (r *Recorder) Observe(e *proxy.Exchange) {
	select {
	case r.queue <- e:
	default:
		r.Count(Dropped)
	}
}

// Close writes the queued exchanges and stops the recorder. It returns the error of the last
// write.
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
	errorLog := limitedLog{log: r.Log, gap: logInterval}
	write := func() error {
		written, dropped, err := r.folder.write()
		r.count(Written, written)
		r.count(Dropped, dropped)
		if err != nil {
			errorLog.report("recorded exchanges cannot be written: free space in record.dir, or stop recording", err)
		}
		r.written.Store(r.folder.total)
		return err
	}
	for {
		select {
		case e := <-r.queue:
			r.mask(e)
			if r.folder.isFull() {
				_ = write() // it logs its errors
			}
		case <-tick.C:
			_ = write()
		case <-r.stop:
			for len(r.queue) > 0 {
				r.mask(<-r.queue)
			}
			r.stopped <- write()
			return
		}
	}
}

// mask masks an exchange and adds it to the folder.
func (r *Recorder) mask(e *proxy.Exchange) {
	options := r.Options
	options.Limits = *r.limits.Load()
	c, err := newConversation(&options, e)
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
	case len(text) > maxExchangeBytes, r.folder.total+int64(len(text)) > options.MaxBytes:
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

// limitedLog logs each kind of error at most once per interval.
type limitedLog struct {
	log  *slog.Logger
	gap  time.Duration
	last time.Time
}

func (c *limitedLog) report(what string, err error) {
	if now := time.Now(); c.last.IsZero() || now.Sub(c.last) >= c.gap {
		c.last = now
		c.log.Error(what, "error", err)
	}
}

// marshal returns a value as indented JSON without HTML escapes.
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
