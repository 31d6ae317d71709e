// Package mapping implements the behavior of the contract. It connects the pipeline, the caches
// and the handlers of all resources to a [Service]; everything else is in the packages below. Its
// [Gate] stands in front of the legacy store during a migration: it decides which calls may be
// forwarded there, signs them again, caches replies, and names the records that forwarded writes
// have changed.
//
// # Where to find code
//
// To find the code of a call, look up its name with "portico routes", which prints file and line
// of its handler; handlers.go registers them. A request passes these packages:
//
//   - httpapi: the HTTP port of the contract.
//   - pipeline: the steps that every call runs, from the Accept header to the body.
//   - handlers: the calls on customers, orders, stock items and products.
//   - input: parsing of list modifiers, checks of bodies by the rules of the contract, and
//     conversion of values.
//   - resource: the types that the pipeline and handlers share; rendering of records; reading of
//     lists in batches and pages, with the list cache; and the configuration of the shop.
//   - replycache: the cached replies, and their invalidation.
//   - limits: budgets and rate limits.
//   - contract, codec, auth: the contract as data, its formats, and its authentication.
//
// # Principles
//
//  1. Every call runs the same steps in the same order (package pipeline). The first failure
//     ends the call. A handler implements only the middle: it gets a decoded call and
//     returns a reply or a fault.
//  2. The contract is data: tables in package contract. Handlers read them. No handler
//     compares the name of its dialect, and no route, field or message is written down in
//     a second place.
//  3. Backends are reached only through package adapter. A write makes its decisions
//     inside the backend's transaction. Everything that can be checked before the transaction is
//     checked before it, and passwords are hashed before it.
//  4. Each resource has a handler type of its own, which knows its own dependencies and no
//     other handler. Handlers do not change: a reload makes a service with handlers of its own
//     ([Service.With]), which shares budgets and caches with the one before.
//  5. The list cache only saves queries. Every write of a store invalidates the lists it
//     affects (package replycache), and entries expire after a minute. Changes by imports of
//     other processes invalidate lists, replies and the shop's configuration in the same way
//     ([Service.InvalidateChanged]).
//  6. Every byte that is held for a client is reserved from a budget first, and a list takes
//     the memory of one batch of records, however long it is.
//  7. Calls that the legacy store answers run no handler. If they have to be signed again, they
//     pass the first steps of the pipeline, so that a caller is refused as Portico would refuse
//     it. Only the headers that the key of a cached reply covers are sent for it, and replies that
//     a forwarded write may have changed are invalidated before its reply is sent.
//
// # Glossary
//
// Package adapter defines the terms of the backend side, among them backend, local replica,
// legacy store, ID map, write intent, reconcile, backend-owned attribute, store, record,
// schema, scope, attribute on demand, mark, and the kinds of values, including the difference
// between absent, null and unset. Package cache defines tag, generation and lease. Package
// mapping adds:
//
//   - added attribute, added field: one that the shop has in addition to the contract's.
//   - batch: the records of a long list that are in memory at the same time. A batch update
//     is something else: a call that changes several records.
//   - budget: a limit on the total that concurrent requests hold, such as bytes or lists. A
//     slot is one unit of a budget that counts requests.
//   - buyer: the customer group and the tax rates for which a reply shows prices.
//   - call: one operation of the contract with a name, such as getProduct, and also one
//     request for it.
//   - consumer: a client program with OAuth credentials.
//   - contract: the REST interface that Portico serves.
//   - crash: a request that makes the original stop with an error outside its usual error
//     format. The contract includes these replies where clients can see them.
//   - dialect: one of the two variants of the contract, documented and magento. A dialect
//     is data, not a code path.
//   - expensive condition: a condition of a list that a database cannot answer from an
//     index (package resource).
//   - fault: an entry of an error reply. A bare fault replaces the whole reply.
//   - field: a member of a record on the wire. An attribute is its counterpart in the
//     store; computed fields have none.
//   - fingerprint: a hash of everything in a request that its reply may depend on.
//   - list modifiers: the query parameters that filter, sort and page a list.
//   - original: the shop software whose observed behavior the contract describes. A legacy
//     store is one installation of it.
//   - position: the place in a list at which a page begins. The list cache maps its offset
//     to a mark, from which the store continues without counting.
//   - role: Admin, Customer or Guest. A caller without credentials is a Guest.
//   - selection: the fields that a call asks for with attrs.
//   - shadow read: a read that the other system of a migration has answered, and that is
//     repeated only to compare the replies.
//   - shop: the merchant's installation: its settings, websites and store views.
//   - step: one check of the pipeline.
//   - store view: a scope of values, such as one language of a website. Without one, the values
//     of the default scope apply.
//
// # How it is tested
//
// Package contracttests runs the recorded exchanges of the original and the cases of the
// specification against a whole server; the cases call every route with every method as every
// role. The tests in this package run a service on package memstore; tests that read the
// database, send odd values or write concurrently run on SQLite. Transcripts in testdata hold
// calls and their replies in all dialects as text. Other tests cover overlapping batch updates;
// random pages against adapter.Apply; which records each caller can read and write; odd values for
// every field; and a service with a reply cache beside one without it, after every kind of write.
// Fuzz tests cover bodies, cached replies and every value that is parsed. Tests of refused calls
// compare the rows and files of the store, to show that nothing has changed. The tests of package
// httpapi forward calls to a legacy store. Code that needs no service is tested in the packages
// below.
package mapping
