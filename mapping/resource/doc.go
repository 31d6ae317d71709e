// Package resource TODO.
//
// # Calls
//
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
//
// # Records
//
// Package records reads the records of a backend for lists of any length.
//
// # Principles
//
//  1. A list takes the memory of one batch of records, however long it is ([Rows]). Each batch
//     begins after the last record of the one before, so that writes in between shift nothing.
//  2. A page deep in a list costs no more than the first: the lengths of lists and the positions
//     at which pages begin are cached ([ListCache]). Every entry can be computed again. Writes
//     invalidate entries by resource, and entries expire after a minute.
//  3. A list that a database cannot answer from an index has to wait for one of a few slots, and
//     has a short timeout ([FilterLimiter]).
//  4. This package knows records and queries, but neither calls nor replies.
//
// Files: source.go and nostore.go open the stores, filterlimiter.go limits expensive conditions,
// listcache.go and listkey.go cache, pages.go finds a page and rows.go reads a list.
//
// # How it is tested
//
// Tests here cover the keys and the size of the cache. Tests of package mapping page through
// lists at random beside adapter.Apply, while records change.
//
// # Shopconfig
//
// Package shopconfig reads the merchant's configuration, which no call changes: websites, store
// views, customer groups and tax rates.
//
// # Principles
//
//  1. The configuration is read as a whole and used for ten seconds, so that a call sees one
//     state of it, and changes in the backend become visible soon.
//  2. Taxes are computed here, from the rates that apply at an address (taxes.go).
//  3. Amounts of money and taxes are integers, rounded where the original rounds (money.go).
//
// Files: cache.go reads the configuration, config.go describes it, and countries.go reads the
// directory of countries.
//
// # How it is tested
//
// Table tests cover the choice and the order of tax rates, rounding, and the values of a website
// that replace the settings.
package resource
