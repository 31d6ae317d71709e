package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// The free space of the folder of images, in bytes, below which there is a warning or a fault.
const (
	littleSpace = 1 << 30
	noSpace     = 64 << 20
)

// checkMedia checks the folder of the images. Portico creates it if only the folder itself is
// missing.
func (e *examination) checkMedia(ctx context.Context) []Finding {
	if e.cfg.Media.Bucket != "" {
		return one(e.checkBucket(ctx))
	}
	const advice = "Set sql.media_dir to a folder that the user of Portico may write to, and that all replicas share."
	folder := program.MediaDir(e.cfg)
	exists := folder
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		exists = filepath.Dir(folder)
	}
	name := e.mediaName()
	if err := tryFile(exists); err != nil {
		return one(failed("", fmt.Sprintf("%s cannot be written to: %v", name, err), advice))
	}
	found := spaceFinding(exists, name, littleSpace, noSpace)
	if found.Level == OK && exists != folder {
		found.Found = name + " does not exist yet: portico serve creates it"
	}
	return one(found)
}

// mediaName returns the name of the folder of the images. It returns a description in place of a
// name that is derived from sql.dsn: if the DSN lacks the prefix of its server, that name may
// contain a password.
func (e *examination) mediaName() string {
	section := e.cfg.Sections[program.SQLSection]
	if section["media_dir"] == "" && engine.Location(section["dsn"]) == "sqlite" {
		return "the folder beside the database"
	}
	return program.MediaDir(e.cfg)
}

// checkSpool checks the folder for temporary files.
func (e *examination) checkSpool(context.Context) []Finding {
	folder := cmp.Or(e.cfg.Lists.SpoolDir, os.TempDir())
	if err := tryFile(folder); err != nil {
		return one(failed("", fmt.Sprintf("%s cannot be written to: %v", folder, err), "Set lists.spool_dir to a folder that the user of Portico may write to."))
	}
	found := spaceFinding(folder, folder, uint64(e.cfg.Lists.SpoolBytes), 0)
	if found.Level == Warning {
		found.Found += ", less than lists.spool_bytes"
	}
	return one(found)
}

// tryFile writes a file to a folder and removes it. If the process is killed in between, Portico
// removes it from the folder of images later. Errors do not name the folder.
func tryFile(folder string) error {
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return withoutPath(err)
	}
	_, err = file.WriteString("portico doctor\n")
	return withoutPath(cmp.Or(err, file.Close(), os.Remove(file.Name())))
}

// spaceFinding is the finding about the free space of a folder, in bytes, which is called name:
// less than little is a warning, less than least a fault.
func spaceFinding(folder, name string, little, least uint64) Finding {
	free, known := freeSpace(folder)
	text := fmt.Sprintf("%s can be written to, and has %s free", name, sizeText(free))
	switch {
	case !known:
		return passed("", name+" can be written to")
	case free < least:
		return failed("", text, "Make room there.")
	case free < little:
		return warned("", text, "Make room there.")
	}
	return passed("", text)
}

// sizeText returns a number of bytes for people.
func sizeText(bytes uint64) string {
	for _, unit := range []struct {
		name string
		size uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// checkOpenFiles checks that the process may open enough files for its maximum number of
// connections.
func (e *examination) checkOpenFiles(context.Context) []Finding {
	limit, known := program.OpenFilesLimit()
	if !known {
		return one(notChecked("", "the limit is not known on this system"))
	}
	need := program.NeededFiles(e.cfg)
	if limit < need {
		return one(warned("", fmt.Sprintf("%d are allowed, and server.max_connections with all upstreams can take %d: portico serve lets in %d connections, and others wait", limit, need, program.MaxConnections(e.cfg, limit)), "Raise the limit (LimitNOFILE= of systemd, --ulimit nofile of a container), or lower server.max_connections."))
	}
	return one(passed("", fmt.Sprintf("%d are allowed, and at most about %d are needed", limit, need)))
}

// boldPercent is the share of the memory limit, in percent, from which the settings cause a
// warning.
const boldPercent = 80

// checkMemory compares the memory that the settings allow Portico with the available memory.
func (e *examination) checkMemory(context.Context) []Finding {
	limit, of := memoryLimit(e.root)
	if limit == 0 {
		return one(notChecked("", "the memory is not known on this system"))
	}
	budget := uint64(program.MemoryBudget(e.cfg))
	text := fmt.Sprintf("the settings let Portico take about %s of %s of this %s", sizeText(budget), sizeText(limit), of)
	const advice = "Lower limits.requests_bytes, limits.replies_bytes or cache.memory_bytes, or give it more memory."
	switch {
	case budget >= limit:
		return one(failed("", text+": it would be killed under load", advice))
	case budget >= limit/100*boldPercent:
		return one(warned("", text, advice))
	}
	return one(passed("", text))
}

// memoryLimit returns the memory, in bytes, of the container or, if that has no limit, of the
// machine, whose files are below root; 0 if it is not known.
func memoryLimit(root fs.FS) (limit uint64, of string) {
	of = "machine"
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		if _, after, ok := bytes.Cut(text, []byte("MemTotal:")); ok {
			if fields := bytes.Fields(after); len(fields) > 0 {
				kib, _ := strconv.ParseUint(string(fields[0]), 10, 64) // 0 is unknown
				limit = kib << 10
			}
		}
	}
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		// "max", or a number beyond the memory, is no limit.
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil && (limit == 0 || n < limit) {
			return n, "container"
		}
	}
	return limit, of
}

// checkBucket stores an object in the bucket of the images, reads it and removes it.
func (e *examination) checkBucket(ctx context.Context) Finding {
	name := "the bucket " + e.cfg.Media.Bucket
	store, err := program.MediaBucket(e.cfg)
	if err != nil {
		return failed("", err.Error(), "Correct the settings media.*.")
	}
	if err := tryObject(ctx, store); err != nil {
		return failed("", fmt.Sprintf("%s cannot be used: %v", name, err), "Check media.endpoint, media.region and media.path_style, that the bucket exists, and that media.access_key may list it, and get, put and delete objects.")
	}
	return passed("", name+" can be written to and read")
}

var errOtherBytes = errors.New("it returns other bytes than those that were stored")

// tryObject stores an object, reads it and removes it.
func tryObject(ctx context.Context, store media.Store) error {
	file, content := media.Ref{Name: ".doctor"}, []byte("portico doctor\n")
	if err := store.Put(ctx, file.Name, bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	opened, err := store.Open(ctx, file)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(opened)
	_ = opened.Close()
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, content):
		return errOtherBytes
	}
	return store.Remove(ctx, file)
}
