// Package mirror repeats clients' writes to Portico in the legacy store during a migration: the
// writes of a resource can move to Portico before the legacy store is turned off, and move back.
//
// # Principles
//
//  1. Portico executes clients' writes and repeats them through the original's REST interface
//     (requests.go), as an Admin and signed with Portico's own consumer.
//  2. Changes and deletions wait in an outbox (package outbox) that the write's transaction has
//     filled. A [Deliverer] sends the present values, in the order of each product and customer.
//     Clients never wait for it. Entries that the legacy store refuses are parked, as in a
//     dead-letter queue, and the others proceed.
//  3. The deliverer reads the effect of a delivery from the legacy store's database: a reply alone
//     proves nothing. Only for a removal at a single store view does the reply count: the database
//     may have had no value there before either.
//  4. A record is created in the legacy store first, which chooses its id, and is then read from
//     its database (create.go). A create with an unknown outcome is never repeated.
//  5. A row in Portico's store names the owner of a resource's writes. During a handover, a [Gate]
//     holds writes until no process has older ones in progress.
//
// # How it is tested
//
// A service in the magento dialect executes the requests, and must then have the same values.
// Handovers and the loss of the lease are tested here on real stores; deliveries and creates in
// package app with a legacy store on a real server, behind a misbehaving proxy, with processes that
// are killed and paused.
package mirror
