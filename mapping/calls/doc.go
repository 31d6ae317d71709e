// Package calls holds the types that the pipeline and the handlers share: a call on its way,
// its reply, and the rendering of records as the contract shows them.
//
// # Principles
//
//  1. A handler sees a decoded [Call] and returns a [Reply] or an error. It knows neither
//     headers nor bytes of a body.
//  2. A [Resource] connects a table of fields with the schema and the store of its records. It
//     renders any resource by its table; only computed fields are functions.
//  3. A list is rendered batch by batch: the first one before the reply begins, so that faults
//     are known, and each further one when the client has taken the last.
//  4. This package knows no resource by name.
//
// Files: call.go and response.go describe a call and its result, failures.go converts ids and
// errors for handlers, resource.go renders records, lists.go renders lists of them, and
// batches.go collects the outcomes of a call on many records.
//
// # How it is tested
//
// The tests of package mapping render every field of every resource in both dialects.
package calls
