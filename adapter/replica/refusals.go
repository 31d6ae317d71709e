package replica

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"strings"
)

// A reporter counts every refusal, and logs each record with its reason once.
type reporter struct {
	Log     *logger
	Metrics *Metrics
}

// Lacking names the values without which records cannot be imported.
type Lacking []string

// Error names the values.
func (l Lacking) Error() string { return "lacks values of " + strings.Join(l, ", ") }

// Import reports a record that cannot be imported; id is the backend's.
func (r reporter) Import(resource adapter.Resource, id string, err error) {
	r.Metrics.Refused.Count(resource)
	message := "a record of the backend cannot be imported: " + err.Error()
	if lacking, is := errors.AsType[Lacking](err); is {
		message = "a record of the backend cannot be imported without values of " + strings.Join(lacking, ", ") + ": map them, give them a default, or map the records that they refer to"
	}
	r.Log.WarnOnce(message, resource, id)
}

// File reports a file that cannot be imported.
func (r reporter) File(resource adapter.Resource, id string, err error) {
	r.Metrics.Refused.Count(resource)
	r.Log.WarnOnce("a file of the backend cannot be imported: "+err.Error(), resource, id)
}

// LeftOut reports the values of a document that do not fit their attributes.
func (r reporter) LeftOut(resource adapter.Resource, id string, reasons []string) {
	for _, reason := range reasons {
		r.Metrics.Refused.Count(resource)
		r.Log.WarnOnce("a value of the backend is left out: "+reason, resource, id)
	}
}

// Value reports a value that cannot be applied to a known record, whose legacy id is key.
func (r reporter) Value(resource adapter.Resource, key adapter.Key, attribute string, err error) {
	r.Metrics.Refused.Count(resource)
	r.Log.Warn("a value of the backend cannot be taken over: change it at the backend", "resource", resource, "id", key, "attribute", attribute, "kind", adapter.KindOf(err).String())
}

// Duplicate reports a document that carries another record's legacy id.
func (r reporter) Duplicate(resource adapter.Resource, id string) {
	r.Metrics.Unmapped.Count(resource)
	r.Log.WarnOnce("a record of the backend carries another record's legacy id: correct it at the backend", resource, id)
}

// Unmapped reports a document that has no legacy id.
func (r reporter) Unmapped(resource adapter.Resource, id string) {
	r.Metrics.Unmapped.Count(resource)
	r.Log.WarnOnce("a record of the backend has no legacy id: import one, or set rest.unmapped to allocate", resource, id)
}

// IncompleteScan reports a list of the backend that may lack records.
func (r reporter) IncompleteScan(resource adapter.Resource, why error) {
	r.Metrics.IncompleteScans.Count(resource)
	r.Log.WarnOnce("a scan may lack records of the backend, which stay invisible: let the mapping order its list by something without ties, such as the id", resource, "", "list", why.Error())
}
