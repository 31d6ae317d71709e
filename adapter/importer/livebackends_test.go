//go:build linux

package importer_test

import (
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"strings"
	"testing"
)

// TestMedusaSuite runs the contract suite against Portico in front of a live Medusa that
// holds the demo store.
func TestMedusaSuite(t *testing.T) {
	runSuite(t, "medusa", medusaBackend(sqltest.StartMedusa(t)).settings(), 98)
}

// TestVendureSuite runs the contract suite against Portico in front of a live Vendure that
// holds the demo store.
func TestVendureSuite(t *testing.T) {
	runSuite(t, "vendure", vendureBackend(sqltest.StartVendure(t)).settings(), 98)
}

// TestMagento2Suite runs the contract suite against Portico in front of a live Magento 2 that has
// the websites, store views and customer groups of the demo store, and nothing else.
func TestMagento2Suite(t *testing.T) {
	runSuite(t, "magento2", magento2Backend(sqltest.RunningMagento2(t, "demo")).settings(), 98)
}

// A liveBackend is a live backend with an empty shop.
type liveBackend struct {
	mapping, url, user, secret string
	vars                       map[string]string
}

func medusaBackend(m *sqltest.Medusa) liveBackend {
	return liveBackend{"medusa", m.URL, m.User, m.Password, m.Vars()}
}

func vendureBackend(v *sqltest.Vendure) liveBackend {
	return liveBackend{"vendure", v.URL, v.User, v.Password, v.Vars()}
}

func magento2Backend(m *sqltest.Magento2) liveBackend {
	return liveBackend{"magento2", m.URL, m.User, m.Secret, nil}
}

// settings returns the settings of Portico in front of the backend, as in the environment.
func (b liveBackend) settings() []string {
	vars := make([]string, 0, len(b.vars))
	for name, value := range b.vars {
		vars = append(vars, name+"="+value)
	}
	return []string{
		"PORTICO_ADAPTER=rest", "PORTICO_REST_MAPPING=" + b.mapping, "PORTICO_REST_URL=" + b.url,
		"PORTICO_REST_USER=" + b.user, "PORTICO_REST_SECRET=" + b.secret, "PORTICO_REST_VARS=" + strings.Join(vars, ","),
		// On a busy machine slow replies must not open the breaker, nor let others wait too long.
		"PORTICO_UPSTREAM_TIMEOUT=20s", "PORTICO_UPSTREAM_MAX_WAIT=5s", "PORTICO_LISTS_FILTER_TIMEOUT=10s",
		// The tests do not create records in the backend directly, so scans are not needed.
		"PORTICO_REST_SCAN_EVERY=24h",
	}
}
