package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/mapping/migration"
)

// maxStatus is the maximum size of a migrationStatus in bytes.
const maxStatus = 4 << 20

// A serverStatus is what one running Portico knows of a migration.
type serverStatus struct {
	migrationStatus
	server string // URL of its operators' port
}

// queryMigration asks the operators' ports of running servers, by default that of ops.listen on
// this machine. faults says which did not answer.
func queryMigration(ctx context.Context, cfg *config.Config, servers []string) (statuses []serverStatus, faults []string) {
	if len(servers) == 0 {
		local, err := localURL(cfg.OpsListen)
		if err != nil {
			return nil, []string{"No running Portico was asked: " + err.Error()}
		}
		servers = []string{local}
	}
	for _, server := range servers {
		status, err := queryServer(ctx, server, cfg.OpsToken)
		if err != nil {
			faults = append(faults, fmt.Sprintf("The running Portico at %s was not asked: %v", server, err))
			continue
		}
		statuses = append(statuses, serverStatus{*status, server})
	}
	return statuses, faults
}

// queryServer asks one operators' port.
func queryServer(ctx context.Context, server, token string) (*migrationStatus, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("--ops must be a URL such as http://127.0.0.1:9464")
	}
	ctx, cancel := context.WithTimeout(ctx, readyQueryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("migration").String(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico"))
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // through no proxy
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return nil, errOtherToken
	default:
		return nil, fmt.Errorf("it answers %d, so it is no operators' port of this version", response.StatusCode)
	}
	status := &migrationStatus{}
	if err := json.Unmarshal(text, status); err != nil {
		return nil, fmt.Errorf("it is no operators' port: %w", err)
	}
	return status, nil
}

var errOtherToken = errors.New("it wants another ops.token (PORTICO_OPS_TOKEN)")

// addShadows puts the counts of servers together: they begin when the first one has begun to
// compare. It returns nil if none of them compares.
func addShadows(statuses []serverStatus) *migration.Shadow {
	var all *migration.Shadow
	for _, status := range statuses {
		if status.Shadow == nil {
			continue
		}
		if all == nil {
			all = &migration.Shadow{}
		}
		all.Calls = append(all.Calls, status.Shadow.Calls...)
		if all.Since.IsZero() || status.Shadow.Since.Before(all.Since) {
			all.Since = status.Shadow.Since
		}
	}
	return all
}

// followStatus returns how far a process follows the old shop, from its metrics, or nil if it
// does not.
func followStatus(registry prometheus.Gatherer) *migration.Follow {
	families, err := registry.Gather()
	if err != nil {
		return nil
	}
	gauges := map[string]float64{}
	for _, family := range families {
		if metrics := family.GetMetric(); len(metrics) == 1 && metrics[0].Gauge != nil {
			gauges[family.GetName()] = metrics[0].Gauge.GetValue()
		}
	}
	if gauges["portico_follow_leader"] != 1 {
		return nil
	}
	follow := &migration.Follow{LagSeconds: new(gauges["portico_follow_lag_seconds"])}
	if at := gauges["portico_follow_last_comparison_timestamp_seconds"]; at > 0 {
		follow.Compared = time.Unix(int64(at), 0).UTC()
	}
	return follow
}

// followOf returns what is known of following the old shop, or nil if no server follows it and
// none is configured to.
func followOf(cfg *config.Config, statuses []serverStatus) *migration.Follow {
	for _, status := range statuses {
		if status.Follow != nil {
			return status.Follow
		}
	}
	if cfg.Follow.DSN != "" {
		return &migration.Follow{}
	}
	return nil
}
