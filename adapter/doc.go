// Package adapter is the boundary between the contract and the systems that hold the records. It
// defines the types that every adapter uses, and the semantics that every adapter follows.
//
// # Glossary
//
//   - contract: the REST interface that Portico serves, in one of three dialects.
//   - dialect: documented or magento. A dialect is data, not code paths.
//   - backend: the commerce system that owns records; it is reached through an adapter.
//   - local replica: Portico's own copy of the records of a backend, with the values that the
//     backend cannot hold.
//   - legacy store: the store that is being replaced. Its software is the original.
//   - legacy id: the id of a record in the legacy store, by which clients still address the record.
//     Adapters call it the record's [Key].
//   - ID map: the mapping between legacy ids and backend ids.
//   - write intent: a durable note of a write in progress, used for recovery.
//   - reconcile: compare the local replica with the backend and apply the changes.
//   - backend-owned attribute: an attribute whose true value is the backend's.
//   - record, resource, schema: a [Record] holds the values of one object of a [Resource], such as
//     one customer; the resource's [Schema] describes its attributes.
//   - store view, website, scope: a store has websites, and each website has store views, such as
//     one for each language. The [Scope] of an attribute determines whether its value may differ
//     between them. The default scope holds the values that they inherit. A [Level] holds a
//     record's values at the default scope or at one store view.
//   - aggregate: a record as imports store it and exports read it, with its parts and the scoped
//     values of both: see [Aggregate].
//   - on-demand attribute: an attribute that a store returns only if the query or With names it.
//   - push-down: executing part of a query in the backend instead of in [Apply].
//   - tag, generation, lease: terms of cache invalidation, defined in package cache.
//
// # Principles
//
//  1. An adapter knows no roles, legacy field names, messages or HTTP statuses. It stores and finds
//     [Record] values of a [Resource], described by the resource's [Schema]. All logic of the
//     contract is above, in package mapping.
//  2. Writes decide inside the transaction. The functions in [UpdateParams], [CreateParams] and
//     [DeleteParams] run on the locked current record, are pure, and may run again after a
//     conflict. If they return an error, nothing is written and the call returns their error as a
//     [RefusedError]. A layer above a store that must see the current record adds an [Observer].
//  3. Push-down is an optimization and never changes the result. A list may return
//     [ListResult.Partial]; [Apply] then completes the query. The conformance suite compares every
//     store with [Apply].
//  4. Texts are compared through [Fold] on every database engine, numbers by value, and times by
//     their canonical text, which sorts chronologically.
//  5. There are no floats. Decimals are texts with exactly four decimal places, times are texts
//     "2006-01-02 15:04:05" in UTC, flags and ids are integers.
//  6. Errors are [*Error] values with a closed list of kinds. Each method documents the kinds that
//     it may return, and the conformance suite fails on any other.
//  7. Adapters and stores are safe for concurrent use. Methods take their context as the first
//     parameter and do not store it.
//  8. A capability that only some adapters have is an interface of its own, which an [Adapter] may
//     implement: an [Importer] stores records of another system under their keys, a [Noter] lists
//     these records and returns how far the changes of that system have been imported, and an
//     [Exporter] reads records as an import stores them. A [Store] that can change several records
//     in one transaction is a [BatchUpdater].
//  9. Records encoded as JSON ([EncodeJSON]) may be decoded by another version of Portico. Nothing
//     is lost: null differs from absent, integers are exact, and texts keep bytes that are not
//     valid UTF-8. Decoding leaves out resources and attributes that the schemas no longer have.
//  10. An [ImageChecker] decides whether bytes are an image that a shop accepts, wherever they come
//     from.
//  11. A [Clock] is for times that outlive the process or that other machines compare. It detects
//     that the machine's clock was set. Durations within a process are measured with package time.
//
// # How it is tested
//
// Package adaptertest holds the conformance suite. The tests of an adapter call adaptertest.Run
// with a function that opens a store of the demo data set. Fold and Apply have table tests in this
// package; Apply is the reference with which the suite compares stores. Images are tested whole,
// cut and oversized in each format, and a fuzz target counts the pixels of GIFs. Package replica
// has fuzz targets that decode stored JSON. The packages that use a Clock test it with clocks that
// are set forward and back.
package adapter
