package replica

import (
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// withBase returns a root's mapping with a new base.
func withBase(mapping idmap.Mapping, b base) (idmap.Mapping, error) {
	var err error
	mapping.Base, err = b.Encode()
	return mapping, internalError(err, "encode base of", mapping.Resource, mapping.Key)
}

// internalError returns err, unless it is nil, as an error of kind Internal. It is for
// stored data that cannot be encoded or decoded.
func internalError(err error, op string, r adapter.Resource, key adapter.Key) error {
	if err == nil {
		return nil
	}
	return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("%s %s %d", op, r, key), Err: err}
}

// baseOf returns the base of a root's mapping.
func baseOf(root *resourcePlan, mapping idmap.Mapping) (base, error) {
	parts := make(map[adapter.Resource]*adapter.Schema, len(root.parts))
	for _, part := range root.parts {
		parts[part.Resource] = part.schema
	}
	b, err := decodeBase(mapping.Base, root.schema, parts)
	return b, internalError(err, "decode base of", mapping.Resource, mapping.Key)
}

// convert returns a list with each element converted by f.
func convert[T, U any](list []T, f func(T) U) []U {
	converted := make([]U, len(list))
	for i, element := range list {
		converted[i] = f(element)
	}
	return converted
}

// tryConvert is convert for an f that can fail.
func tryConvert[T, U any](list []T, f func(T) (U, error)) (converted []U, err error) {
	converted = convert(list, func(element T) (u U) {
		if err == nil {
			u, err = f(element)
		}
		return u
	})
	return converted, err
}
