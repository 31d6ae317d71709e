package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/cobra"
)

// recordCommand returns the command "contracttest record".
func recordCommand() *cobra.Command {
	var o targetOptions
	var out string
	cmd := &cobra.Command{
		Use:   "record --url URL IN.json... -o OUT",
		Short: "Record the replies of a trusted implementation to given requests",
		Long: `Make the requests in files of exchanges against a trusted implementation, and write
them with the replies. With --exchanges, other implementations are compared with these.

A file is a list of exchanges, each with a name and steps:
  [{"name": "two customers", "steps": [
    {"as": "admin", "method": "GET", "path": "/customers?limit=2", "accept": "application/json"}]}]
Steps may also have content_type, headers and body; {{base_url}} is replaced by --url.
In the replies, placeholders replace the base URL and datetimes of the last hour. If
requests write, use --reset to restore the data after each of them.`,
		Example: `  contracttest record --url https://old.example --credentials credentials.yaml calls.json -o recorded/calls.json
  contracttest --url https://new.example --credentials new.yaml --exchanges recorded`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setFromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return err
			}
			return recordReplies(cmd, &o, args, out)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, or the folder to write to under the names of the input files")
	return cmd
}

// recordReplies makes the requests of the named files and writes them with the replies to
// out.
func recordReplies(cmd *cobra.Command, o *targetOptions, names []string, out string) error {
	if out == "" {
		return fmt.Errorf("-o is not set: name the file or folder to write")
	}
	target, _, err := o.target(cmd)
	if err != nil {
		return err
	}
	files, err := outputFiles(names, out)
	if err != nil {
		return err
	}
	// All files are read before the first request, and all replies are recorded before
	// the first file is written.
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

// outputFiles returns the file to write for each input file. If out is a folder, or there
// are several input files, it creates the folder. It returns an error if two inputs have
// the same name.
func outputFiles(names []string, out string) ([]string, error) {
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
		if other, duplicate := from[file]; duplicate {
			return nil, fmt.Errorf("%s and %s would both be written to %s", other, name, file)
		}
		from[file] = name
		files = append(files, file)
	}
	return files, nil
}
