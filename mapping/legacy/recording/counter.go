package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/redact"
)

// usageFiles matches the usage files; the instance stands in the place of the asterisk.
const usageFiles = "usage-*.json"

// maxUsageFile is the maximum size of a usage file in bytes.
const maxUsageFile = 64 << 20

// usageFile is the content of a usage file.
type usageFile struct {
	Version int          `json:"version"`
	Rows    []Row        `json:"rows"`
	Outside []OutsideRow `json:"outside,omitempty"`
}

// CounterOptions are the settings of [NewCounter].
type CounterOptions struct {
	Dir string // created if it does not exist
	// Instance names the process and its file. It must be unique among running
	// processes; a process with the name of an earlier one continues its counts.
	Instance string
	// Every is the interval between two writes, 0 for a default of a few seconds.
	Every time.Duration
	Log   *slog.Logger
}

// A Counter counts requests by caller, those outside the interface too, and periodically writes the counts to a file. It is an
// [proxy.Watcher].
type Counter struct {
	CounterOptions
	path string

	mu      sync.Mutex // protects the fields below
	usage   Usage
	changed bool

	stop    chan struct{}
	stopped chan error
	closing sync.Once
	closed  error
}

// NewCounter starts a counter, which Close stops. It continues the counts in the file of its
// instance, if there is one, and fails if that file cannot be read.
func NewCounter(o CounterOptions) (*Counter, error) {
	if err := os.MkdirAll(o.Dir, folderMode); err != nil {
		return nil, err
	}
	o.Every = cmp.Or(o.Every, defaultPeriod)
	c := &Counter{
		CounterOptions: o, path: filepath.Join(o.Dir, "usage-"+o.Instance+".json"),
		stop: make(chan struct{}), stopped: make(chan error, 1),
	}
	err := readUsage(os.DirFS(o.Dir), filepath.Base(c.path), &c.usage)
	if err = ignoreMissing(err); err != nil {
		return nil, err
	}
	go c.run()
	return c, nil
}

// Wants asks for the heads of all exchanges.
func (c *Counter) Wants(*http.Request, *contract.Address) proxy.CopyWant { return proxy.Heads }

// Observe counts an exchange. It names only consumers that have been authenticated before,
// because anyone can invent a key.
func (c *Counter) Observe(e *proxy.Exchange) {
	if e.Outside() {
		row := outsideRowOf(e)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.usage.addOutside(row)
		c.changed = true
		return
	}
	row := rowOf(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if row.Consumer != redact.Guest && e.Status >= http.StatusBadRequest && !c.usage.consumers[row.Consumer] {
		row.Consumer = redact.Unnamed
	}
	c.usage.add(row)
	c.changed = true
}

// Close writes the counts and stops the counter.
func (c *Counter) Close() error {
	c.closing.Do(func() {
		close(c.stop)
		c.closed = <-c.stopped
	})
	return c.closed
}

func (c *Counter) run() {
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	errorLog := limitedLog{log: c.Log, gap: logInterval}
	for {
		select {
		case <-tick.C:
			if err := c.write(); err != nil {
				errorLog.report("usage counts cannot be written: free space in record.dir", err)
			}
		case <-c.stop:
			c.stopped <- c.write()
			return
		}
	}
}

// write writes the usage file if any count has changed since the last write.
func (c *Counter) write() error {
	file, changed := c.snapshot()
	if !changed {
		return nil
	}
	sortRows(file.Rows)
	text, err := marshal(file)
	if err == nil {
		err = replaceFile(c.path, text)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed = true // retry next time
	}
	return err
}

// snapshot returns a copy of the counts and whether any has changed since the last call. It
// blocks counting only while it copies.
func (c *Counter) snapshot() (file usageFile, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return usageFile{}, false
	}
	c.changed = false
	return usageFile{Version: 1, Rows: c.usage.copyRows(), Outside: c.usage.Outside()}, true
}

// ReadUsage returns the sum of all usage files in fsys. It fails if there is none, or if any
// of them cannot be read.
func ReadUsage(fsys fs.FS) (*Usage, error) {
	names, err := fs.Glob(fsys, usageFiles)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no usage files " + usageFiles + " found")
	}
	u := &Usage{}
	for _, name := range names {
		if err := readUsage(fsys, name, u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// readUsage adds the counts of a usage file to u.
func readUsage(fsys fs.FS, name string, u *Usage) error {
	file, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxUsageFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxUsageFile {
		return fmt.Errorf("%s: larger than %d bytes", name, maxUsageFile)
	}
	var f usageFile
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%s: not a usage file: %w\nmove it away", name, err)
	}
	if f.Version != 1 {
		return fmt.Errorf("%s: usage file of unknown version %d: read it with a newer program", name, f.Version)
	}
	for i := range f.Rows {
		u.add(&f.Rows[i])
	}
	for i := range f.Outside {
		u.addOutside(&f.Outside[i])
	}
	return nil
}
