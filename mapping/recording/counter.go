package recording

import (
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
	"github.com/portico-commerce/portico/mapping/exchange"
)

// usageFiles matches the files of counts; between the prefix and the ending stands
// the instance.
const usageFiles = "usage-*.json"

// maxUsageFile bounds one file of counts, in bytes.
const maxUsageFile = 64 << 20

// usageFile is the content of a file of counts.
type usageFile struct {
	Version int   `json:"version"`
	Rows    []Row `json:"rows"`
}

// CounterOptions are what [NewCounter] needs.
type CounterOptions struct {
	Dir string // is made when it is missing
	// Instance names the process, and its file: no other that is running has it, and
	// the one that follows it goes on counting.
	Instance string
	// Every is the time between two writes, 0 for some seconds.
	Every time.Duration
	Log   *slog.Logger
}

// A Counter counts who calls what, and writes it to a file now and then. It is an
// [exchange.Watcher].
type Counter struct {
	CounterOptions
	path string

	mu      sync.Mutex // held around what follows
	usage   Usage
	changed bool

	stop    chan struct{}
	stopped chan error
	closing sync.Once
	closed  error
}

// NewCounter starts a counter, which Close ends. It goes on from the file of its
// instance, if there is one; one that cannot be read is an error.
func NewCounter(o CounterOptions) (*Counter, error) {
	if err := os.MkdirAll(o.Dir, folderMode); err != nil {
		return nil, err
	}
	if o.Every == 0 {
		o.Every = usualPeriod
	}
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

// Wants wants the heads of all exchanges.
func (c *Counter) Wants(*http.Request, *contract.Address) exchange.Want { return exchange.Heads }

// Saw counts an exchange. A consumer that has never been let in is not named: its
// key may be anybody's invention.
func (c *Counter) Saw(e *exchange.Exchange) {
	row := rowOf(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if row.Consumer != guest && e.Status >= http.StatusBadRequest && !c.usage.consumers[row.Consumer] {
		row.Consumer = unnamed
	}
	c.usage.add(row)
	c.changed = true
}

// Close writes what has been counted, and ends the counter.
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
	complain := complaints{log: c.Log, gap: complainGap}
	for {
		select {
		case <-tick.C:
			if err := c.write(); err != nil {
				complain.about("the counts of who calls what cannot be written: free space in record.dir", err)
			}
		case <-c.stop:
			c.stopped <- c.write()
			return
		}
	}
}

// write writes the file of counts, unless nothing has come since.
func (c *Counter) write() error {
	rows, changed := c.take()
	if !changed {
		return nil
	}
	sortRows(rows)
	text, err := marshal(usageFile{Version: 1, Rows: rows})
	if err == nil {
		err = replaceFile(c.path, text)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed = true // the next time
	}
	return err
}

// take returns the counts, and whether any is new. Those who count wait for no more
// than the copy.
func (c *Counter) take() (rows []Row, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil, false
	}
	c.changed = false
	return c.usage.copies(), true
}

// ReadUsage returns what all files of counts in fsys say together. It fails on the
// first that cannot be read, and where there are none.
func ReadUsage(fsys fs.FS) (*Usage, error) {
	names, err := fs.Glob(fsys, usageFiles)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there are no counts " + usageFiles)
	}
	u := &Usage{}
	for _, name := range names {
		if err := readUsage(fsys, name, u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// readUsage adds what a file of counts says to u.
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
		return fmt.Errorf("%s: no file of counts: %w\nmove it away", name, err)
	}
	if f.Version != 1 {
		return fmt.Errorf("%s: counts of version %d, which this program does not know", name, f.Version)
	}
	for i := range f.Rows {
		u.add(&f.Rows[i])
	}
	return nil
}
