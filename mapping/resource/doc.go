// Package resource holds the shared code of the handlers of all resources: the types of a call and
// of its reply, the rendering of records as the contract shows them, the reading of lists of any
// length, and the merchant's configuration (websites, store views, customer groups and taxes).
//
// # Where to find code
//
//   - call.go and response.go describe a call and its result, and failures.go converts ids and
//     errors for handlers.
//   - resource.go renders records, lists.go renders lists of them, and batches.go collects the
//     outcomes of a call on many records.
//   - source.go and nostore.go open the stores, rows.go reads a list, pages.go finds a page,
//     listcache.go and listkey.go cache, and filterlimiter.go limits expensive conditions.
//   - shop.go describes the configuration and shop_cache.go reads it; taxes.go and money.go compute
//     taxes and amounts, and countries.go reads the directory of countries.
//
// # Principles
//
//  1. A handler sees a decoded [Call] and returns a [Reply] or an error. It knows neither
//     headers nor bytes of a body.
//  2. A [Resource] connects a table of fields with the schema and the store of its records. It
//     renders any resource by its table; only computed fields are functions. This package knows no
//     resource by name, apart from the configuration.
//  3. A list takes the memory of one batch of records, however long it is ([Rows]). The first batch
//     is rendered before the reply begins, so that faults are known, and each further one when the
//     client has taken the last. Each begins after the last record of the one before, so that
//     concurrent writes shift nothing.
//  4. A page deep in a list costs no more than the first: the lengths of lists and the positions
//     at which pages begin are cached ([ListCache]). Every entry can be computed again. Writes
//     invalidate entries by resource, and entries expire after a minute.
//  5. A list that a database cannot answer from an index has to wait for one of a few slots, and
//     has a short timeout ([FilterLimiter]).
//  6. The configuration, which no call changes, is read as a whole and used for ten seconds
//     ([ShopCache]), so that a call sees one state of it, and changes in the backend become visible
//     soon.
//  7. Taxes are computed from the rates that apply at an address. Amounts of money and taxes are
//     integers, rounded where the original rounds.
//
// # How it is tested
//
// Tests here cover the keys and the size of the list cache, the choice and the order of tax rates,
// rounding, and the values of a website that replace the settings. The tests of package mapping
// render every field of every resource in both dialects, and page through lists at random, compared
// with adapter.Apply, while records change.
package resource
