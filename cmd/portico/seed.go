package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
)

func seedCommand() *cobra.Command {
	var path string
	var replace bool
	cmd := &cobra.Command{
		Use:   "seed --dataset FILE",
		Short: "Fill the store with a data set",
		Long: `Fill the store of the configuration with the data set of a JSON file: websites,
stores, customers, products, orders and credentials. It is all or nothing: a file
with faults is refused with the line of each.
Records may have the attributes that the configuration adds.

A store that holds records is refused unless --replace says that they may go.
With the adapter rest the records are then made at the backend, too, as
"portico ids push" does: run that again if it is interrupted.
The public credentials of the demo store are refused: give the store its own
with "portico credentials".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return seed(cmd, path, replace)
		},
	}
	addSettingFlags(cmd, "adapter", "log.level", "log.format")
	cmd.Flags().StringVar(&path, "dataset", "", "the JSON file to read")
	cmd.Flags().BoolVar(&replace, "replace", false, "remove all records and credentials of the store first")
	if err := cmd.MarkFlagRequired("dataset"); err != nil {
		panic(err) // the flag is the one defined above
	}
	return cmd
}

func seed(cmd *cobra.Command, path string, replace bool) (err error) {
	ctx := cmd.Context()
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	data, err := readDataset(path, cfg)
	if err != nil {
		return err
	}
	data.Stock = stockDefaults(cfg.Stock)
	log := newLogger(cmd.ErrOrStderr(), cfg)
	db, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	join := joinOf(cfg)
	if join != nil && replace {
		return fmt.Errorf("--replace cannot remove the records of a backend: empty it, and the database sql.dsn names, and leave --replace out")
	}
	progress, finish := progressOn(cmd.ErrOrStderr())
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
	fmt.Fprintf(cmd.OutOrStdout(), "%d records stored\n", records(data))
	if join == nil {
		return nil
	}
	j, err := join(cfg, db, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.store.Close()) }()
	return push(cmd, j)
}

// readDataset reads a data set that may go into a store others can reach. Its
// records may have the attributes that cfg adds.
func readDataset(path string, cfg *config.Config) (*adapter.Dataset, error) {
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := demo.Decode(file, schemas)
	var faults demo.LineErrors
	switch {
	case errors.As(err, &faults):
		return nil, fmt.Errorf("%s: nothing is stored, mend this first:\n%w", path, faults)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	public, err := demo.PublicCredentials(data)
	if err != nil {
		return nil, err
	}
	if public {
		return nil, fmt.Errorf("%s holds the public credentials of the demo store: remove them, and add the store's own with \"portico credentials\"", path)
	}
	return data, nil
}

// records returns the number of records of a data set.
func records(data *adapter.Dataset) (n int) {
	for _, list := range data.Records {
		n += len(list)
	}
	return n
}

// progressOn returns what shows progress on w, which is nothing unless w is a
// terminal, and what ends the show.
func progressOn(w io.Writer) (progress func(done, total int), finish func()) {
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
		_ = bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
	return progress, func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
}
