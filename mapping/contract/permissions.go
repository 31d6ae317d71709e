package contract

// A Permission lists the methods that a role may use on a resource.
type Permission struct {
	Resource string   // name as in Route.Resource
	Methods  []Method // in the order of [Methods], at least one
}

// Permissions returns the permissions of role in dialect d on routes: for each resource, in the
// order of the routes, the methods that at least one route serves. It leaves out resources of
// which none is served.
func Permissions(d *Dialect, role Role, routes []*Route) []Permission {
	served := map[string]map[Method]bool{}
	var resources []string
	for _, r := range routes {
		for _, m := range Methods() {
			if r.Access(d, role, m) != Serve {
				continue
			}
			if served[r.Resource] == nil {
				served[r.Resource] = map[Method]bool{}
				resources = append(resources, r.Resource)
			}
			served[r.Resource][m] = true
		}
	}
	permissions := make([]Permission, len(resources))
	for i, resource := range resources {
		permissions[i].Resource = resource
		for _, m := range Methods() {
			if served[resource][m] {
				permissions[i].Methods = append(permissions[i].Methods, m)
			}
		}
	}
	return permissions
}
