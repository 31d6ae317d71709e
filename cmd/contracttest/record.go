package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/contracttests"
)

func recordCommand() *cobra.Command {
	var o targetOptions
	var out string
	cmd := &cobra.Command{
		Use:   "record --url URL IN.json... -o OUT",
		Short: "Record what a trusted implementation answers to given requests",
		Long: `Make the requests of files of exchanges against an implementation that is trusted,
and write them with its answers. --exchanges then holds others to that.

A file is a list of exchanges, each with a name and steps:
  [{"name": "two customers", "steps": [
    {"as": "admin", "method": "GET", "path": "/customers?limit=2", "accept": "application/json"}]}]
Steps may also have content_type, headers and body; {{base_url}} stands for --url.
Of the answers the base URL and datetimes of the last hour are left open, nothing
else: where requests write, --reset puts the store back before each exchange.`,
		Example: `  contracttest record --url https://old.example --credentials credentials.yaml calls.json -o recorded/calls.json
  contracttest --url https://new.example --credentials new.yaml --exchanges recorded`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return err
			}
			return record(cmd, &o, args, out)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, or for several files the folder they are written to under their names")
	return cmd
}

func record(cmd *cobra.Command, o *targetOptions, names []string, out string) error {
	if out == "" {
		return fmt.Errorf("no -o: name the file or folder to write")
	}
	target, _, err := o.target(cmd)
	if err != nil {
		return err
	}
	files, err := outputs(names, out)
	if err != nil {
		return err
	}
	// Everything is read before anything is called, and recorded before anything is
	// written.
	requests := make([][]contracttests.Exchange, len(names))
	for i, name := range names {
		if requests[i], err = contracttests.LoadRequests(os.DirFS(filepath.Dir(name)), filepath.Base(name)); err != nil {
			return err
		}
	}
	ctx := cmd.Context()
	if err := contracttests.Probe(ctx, target); err != nil {
		return err
	}
	for i := range requests {
		if requests[i], err = contracttests.Record(ctx, target, requests[i]); err != nil {
			return err
		}
	}
	for i, name := range files {
		if err := writeFile(name, func(w io.Writer) error { return contracttests.WriteExchanges(w, requests[i]) }); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d exchanges recorded\n", name, len(requests[i]))
	}
	return nil
}

// outputs returns where what is recorded for each of the files goes, and makes the
// folder.
func outputs(names []string, out string) ([]string, error) {
	info, err := os.Stat(out)
	if isFolder := err == nil && info.IsDir() || strings.HasSuffix(out, string(filepath.Separator)) || len(names) > 1; !isFolder {
		return []string{out}, nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var files []string
	from := map[string]string{}
	for _, name := range names {
		file := filepath.Join(out, filepath.Base(name))
		if other, twice := from[file]; twice {
			return nil, fmt.Errorf("%s and %s would both be written to %s", other, name, file)
		}
		from[file] = name
		files = append(files, file)
	}
	return files, nil
}
