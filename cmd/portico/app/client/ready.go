package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// ReadyCommand returns the command "ready".
func ReadyCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Ask a running Portico whether it is ready",
		Long: `Ask /readyz of the Portico that runs with the same settings on this machine. The
exit code is 0 if it is ready, and 1 if it is not ready or not running. Use the command
as the health check of a container, whose image has no shell.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			if err := queryReady(cmd.Context(), cfg.OpsListen); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		},
	}
	p.AddSettingFlags(cmd, "ops.listen")
	return cmd
}

// queryReady asks the operators' port of a program on this machine, which listens on the address
// listens. The error contains the reason why the program is not ready.
func queryReady(ctx context.Context, listens string) error {
	base, err := program.LocalURL(listens)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, program.QueryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico"))
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // through no proxy
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("no answer: %w", err)
	case err != nil:
		return fmt.Errorf("not running: %w\nstart the server with \"portico serve\", or name its operators' port with --ops-listen", err)
	}
	const maxReplyBytes = 200
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReplyBytes))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(text)))
	}
	return nil
}
