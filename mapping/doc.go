// Package mapping implements the behavior of the contract: one pipeline for all calls,
// and a handler for each call in the route table.
//
// # Principles
//
//  1. Every call runs the same steps in the same order (pipeline.go). The first failure
//     ends the call. A handler implements only the middle: it gets a decoded call and
//     returns a reply or a fault.
//  2. The contract is data: tables in package contract. Handlers read them. No handler
//     compares the name of its dialect, and no route, field or message is written down in
//     a second place.
//  3. Backends are reached only through package adapter. A write makes its decisions
//     inside the backend's transaction.
//  4. Errors become faults in one place (faults.go). Clients see the messages of the
//     contract; the log contains the cause.
//  5. The list cache (listcache.go) only saves queries. Every write of a store invalidates
//     the lists it affects (invalidation.go), and entries expire after a minute. What
//     imports of other processes change invalidates lists, replies and the shop's
//     configuration in the same way (InvalidateChanged).
//  6. What a body may hold is described in package contract, by a form (forms.go) or by
//     rules (productcheck.go, stockrules.go). The conversion of values is in values.go, and
//     values with rules of their own have a file each. Whatever can be checked before a
//     write's transaction is checked before it, and passwords are hashed before it.
//  7. Each resource has a file named like its path. To find the code of a call, look up
//     its name with "portico routes", which also prints the file.
//  8. Every byte that is held for a client is reserved from a budget first (budgets.go):
//     the query before authentication, the body after it, then their decoded forms and the
//     batches of lists. Guests get at most half of each budget.
//  9. A list takes the memory of one batch of records, however long it is (rows.go,
//     stream.go). Faults are found before the first batch is sent. A later failure breaks
//     the connection, so that no client mistakes a part of the list for all of it.
//  10. Finished replies to Guests' reads of products are cached (replycache.go), by package
//     cache behind an interface. A table of the resources that calls write says which
//     replies a write invalidates (invalidation.go); it does so inside its transaction. A
//     reply also expires when one of its prices changes with time.
//  11. Calls that the legacy system answers do not run here. The service authorizes them
//     if they have to be signed again, caches their replies, and refuses those that could
//     not be forwarded with an error of the contract (legacy.go, legacycache.go).
//
// # Glossary
//
// Package adapter defines the terms of the backend side, among them backend, local
// replica, legacy system, ID map, write intent, reconcile, backend-owned attribute, store,
// record, schema, scope, attribute on demand, mark, and the kinds of values, including the
// difference between absent, null and unset. Package cache defines tag, generation and
// lease. Package mapping adds:
//
//   - added attribute, added field: one that the shop has in addition to those of the
//     contract.
//   - batch: the records of a long list that are in memory at the same time. A batch update
//     is something else: a call that changes several records.
//   - budget: a limit on what all concurrent requests hold together, such as bytes or
//     lists. A slot is one unit of a budget that counts requests.
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
//     index (filterlimiter.go).
//   - fault: an entry of an error reply. A bare fault replaces the whole reply.
//   - field: a member of a record on the wire. An attribute is its counterpart in the
//     store; computed fields have none.
//   - fingerprint: a hash of everything in a request that its reply may depend on.
//   - list modifiers: the query parameters that filter, sort and page a list.
//   - original: the shop software whose observed behavior the contract describes. A
//     legacy system is one installation of it.
//   - position: the place in a list at which a page begins. The list cache maps its offset
//     to a mark, from which the store continues without counting.
//   - role: Admin, Customer or Guest. A caller without credentials is a Guest.
//   - selection: the fields that a call asks for with attrs.
//   - shadow read: a read that the other system of a migration has answered, and that is
//     repeated only to compare the replies.
//   - shop: the merchant's installation: its settings, websites and store views.
//   - step: one check of the pipeline.
//   - store view: a scope of values, such as one language of a website. Without one, values
//     are those of the default scope.
//
// # How it is tested
//
// Package contracttests runs the recorded exchanges of the original and the cases of the
// specification against a whole server. The tests in this package run on package memstore;
// those that look into a database, send odd values or write concurrently run on SQLite. They
// cover the order of the pipeline; the matrix of routes, methods and roles; the rules of each
// resource, value by value; overlapping batch updates; random pages against adapter.Apply;
// which records each caller can read and write; odd values for every field; and a service
// with a reply cache beside one without it, after every kind of write. Fuzz tests cover
// bodies and every value that is parsed. Tests of refused calls compare the rows and files of
// the store, to show that nothing has changed.
package mapping
