// Package mirror repeats at the legacy system what clients write to Portico, while a shop moves:
// writes of a resource can move before the legacy system is turned off, and move back.
//
// # Principles
//
//  1. Clients' writes are decided by Portico, and repeated in the form of the original's REST
//     interface (requests.go), as an Admin and signed with Portico's own consumer.
//  2. Changes and deletions wait in an outbox (package outbox) that the write's transaction
//     has filled. A [Deliverer] sends the present values, in the order of each product and
//     customer. Clients never wait for it. What the legacy system refuses is parked, and the
//     rest goes on.
//  3. Whether a delivery has had an effect is read from the legacy system's database: a reply
//     alone proves nothing. Only a removal at a single store view is taken on its word: the
//     database may have nothing there before either.
//  4. A record is created at the legacy system first, which chooses its id, and is then read
//     from its database (create.go). If nobody knows whether that has happened, it is never repeated.
//  5. Which system has the writes of a resource is a row in Portico's store. When that changes,
//     a [Gate] holds writes until no process has older ones in progress.
//
// # How it is tested
//
// Requests are executed by a service in the magento dialect, which must have the same values
// then. Turns and the loss of the lease are tested here on real stores; deliveries and creates in
// package app with an old shop on a real server, behind a proxy that misbehaves, with processes
// that are killed and paused.
package mirror
