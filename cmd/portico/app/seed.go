package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
)

// seedCommand returns the command "seed".
func (p *program) seedCommand() *cobra.Command {
	var path string
	var replace bool
	cmd := &cobra.Command{
		Use:   "seed --dataset FILE",
		Short: "Fill the store with a data set",
		Long: `Fill the store of the configuration with the data set of a JSON file: websites,
stores, customers, products, orders and credentials. The command stores everything
or nothing: it reports the faults of a file with their lines.
Records may have the attributes that the configuration adds.

The command refuses a store that holds records unless --replace is given.
With the adapter rest it then creates the records at the backend, as "portico ids
push" does: run that command if this one is interrupted.
The command refuses the public credentials of the demo store: create the store's
own with "portico credentials".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.seedStore(cmd, path, replace)
		},
	}
	p.addSettingFlags(cmd, "adapter", "log.level", "log.format")
	cmd.Flags().StringVar(&path, "dataset", "", "the JSON file to read")
	cmd.Flags().BoolVar(&replace, "replace", false, "remove all records and credentials of the store first")
	if err := cmd.MarkFlagRequired("dataset"); err != nil {
		panic(err) // the flag is the one defined above
	}
	return cmd
}

// seedStore loads the data set at path into the configured store, after removing all
// records if replace is set, and creates the records at the backend if there is one.
func (p *program) seedStore(cmd *cobra.Command, path string, replace bool) (err error) {
	ctx := cmd.Context()
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := p.requireOwnRecords(cfg, "seed"); err != nil {
		return err
	}
	data, closeFiles, err := readDataset(path, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()
	if len(data.Records) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to store: the data set has no lists")
		return nil
	}
	data.Stock = stockDefaults(cfg.Stock)
	log := newLogger(cmd.ErrOrStderr(), cfg)
	db, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	hasBackend := p.backend(cfg.Adapter) != nil
	if hasBackend && replace {
		return fmt.Errorf("--replace cannot remove the records of a backend: empty the backend and the database of sql.dsn, and leave --replace out")
	}
	progress, finish := newProgressBar(cmd.ErrOrStderr())
	defer finish()
	if replace {
		err = db.Reset(ctx, data)
	} else {
		err = db.Load(ctx, data, progress)
	}
	if err != nil {
		if empty, lookErr := db.Empty(context.WithoutCancel(ctx)); !replace && lookErr == nil && !empty {
			return errors.New("the store holds records already: add --replace to remove them all first")
		}
		return err
	}
	finish()
	fmt.Fprintf(cmd.OutOrStdout(), "%d records stored\n", countRecords(data))
	if !hasBackend {
		return nil
	}
	store, err := p.openBackend(ctx, cfg, db, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.adapter.Close()) }()
	return pushRecords(cmd, store)
}

// readDataset reads the data set at path. Its records may have the attributes that cfg
// adds. It refuses the public credentials of the demo store, which would let anybody call
// the store. closeFiles ends the access to the folder with the images.
func readDataset(path string, cfg *config.Config) (data *adapter.Dataset, closeFiles func() error, err error) {
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	folder, err := os.OpenRoot(filepath.Dir(path)) // links cannot lead out of it
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = folder.Close()
		}
	}()
	data, err = dataset.Decode(file, schemas, folder.FS())
	var faults adapter.LineErrors
	switch {
	case errors.As(err, &faults):
		return nil, nil, fmt.Errorf("%s: nothing is stored; correct these faults first:\n%w", path, faults)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	public, err := demo.PublicCredentials(data)
	if err != nil {
		return nil, nil, err
	}
	if public {
		return nil, nil, fmt.Errorf("%s holds the public credentials of the demo store: remove them, and add the store's own with \"portico credentials\"", path)
	}
	return data, folder.Close, nil
}

// countRecords returns the number of records of a data set, over all resources.
func countRecords(data *adapter.Dataset) (n int) {
	for _, list := range data.Records {
		n += len(list)
	}
	return n
}

// newProgressBar returns a function that draws a progress bar on w, and one that removes
// it. progress is nil unless w is a terminal.
func newProgressBar(w io.Writer) (progress func(done, total int), finish func()) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	progress = func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("records"),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set(done) // failing to draw the bar must not stop the work
	}
	return progress, func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
}
