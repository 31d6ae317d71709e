// Package leases elects one of several processes by rows of the table lease.
//
// A lease expires by the clock of the database, and each new holder gets a greater token. A
// process that needs a lease to write compares the token at the end of each transaction, with the
// lease locked ([Write]): a process that was paused while another one acquired the lease stores
// nothing.
//
// It is tested in package sqlstore, with the writes that leases protect.
package leases
