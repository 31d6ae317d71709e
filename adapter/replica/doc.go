// Package replica joins a backend that owns some attributes of the records with Portico's local
// replica of them, and serves both as one adapter. A commerce system implements [Backend], such as
// package reststore; a database implements [Replica], such as package sqlstore.
//
// # Terms
//
// A root is a record that the backend has on its own, such as a product; its parts, such as its
// stock item, are contained in the root's document. The local replica, write intents, backend-owned
// attributes and reconciling are defined in package adapter, mappings in package idmap.
//
// # Principles
//
//  1. The local replica holds every record completely, as if there were no backend. All rules about
//     records (scopes, scoped values of images, price lists, uniqueness, order, filters) are
//     applied by the replica and exist once. The backend decides the values of backend-owned
//     attributes, and whether a record exists.
//  2. Every record returned has been compared with the backend, or by the last scan where the
//     backend declares ReadsLocally. A read takes the record from the replica and fetches its
//     document from the backend; if the document has changed, the record is reconciled and read
//     again. The reads of one call fetch a document once (adapter.SharedReads). Lists, pages and
//     counts leave out records without a mapping, and records that the backend no longer has; the
//     replica keeps them.
//  3. Reconciling is a three-way merge (merge.go). The base is the content of the document when
//     both last agreed. A value is applied only if the document differs from the base, so nothing
//     is lost where the backend stores a value less exactly than the contract does.
//  4. Identity is never guessed. Only a mapping ties a legacy id to a backend id. A document
//     without a mapping gets the legacy id that it carries itself; if it carries none, it is
//     refused or, if the operator allows it, gets the next legacy id.
//  5. A write goes to the replica first, which checks it, then to the backend, and is undone in the
//     replica if the backend refuses it. Deletes go to the backend first. Before it writes, the
//     writer locks the root and stores a write intent in its mapping (for a new root in the same
//     transaction); it clears the intent afterwards. An intent found later means that a process
//     died or did not learn the outcome: the backend is asked, and the replica follows it, possibly
//     with less exact values than were written. While there is an intent, the outbox
//     (Options.Writes) releases no entry of the root.
//  6. An import is such a write and can be repeated. Its intent holds the former record with its
//     parts: undoing the write imports them again, and reconciling then applies the changes that
//     the backend has made. New records and parts stay if the backend refuses them, and are sent
//     again by the next import or Push.
//  7. Writers of one record are serialized: within a process by the lock of its root, between
//     processes by the write intent, which is polled (locks.go). idmap.Map.BeginIntent stores an
//     intent only if there is none and no process has stored the mapping since it was read. Merging
//     a changed document takes this lock, too, and changes of attributes that the backend does not
//     own fail in their transaction if there is an intent. A writer waits for two seconds, and then
//     fails with kind Unavailable. Reads wait until the intent is two seconds old, and then return
//     the values that the writer has stored so far.
//  8. A process does not touch the intent of another process for a minute. A write ends its
//     requests after 45 seconds, so clocks must not differ by more than the remaining 15. A process
//     claims an intent before it resolves it, so that the writer fails if it is still running.
//  9. Other systems than Portico may change a record at the backend at the same moment. A backend
//     that can detect this refuses the write with ErrChanged; it is then repeated once, on the
//     changed record.
//  10. Values at store views are the local replica's, except of the attributes that the backend declares
//     (BackendResource.ViewAttributes). These are merged and sent like the values of the default scope. A
//     document cannot tell a value that equals the default one from an inherited one, so both count as
//     inherited (views.go).
//  11. Each warning about a record is logged once, because a scan that runs every few seconds finds
//     the same records again.
//
// # States of a root
//
// A row joins the data that the local replica, the ID map and the backend hold of one record. Its
// state follows from these three and is stored nowhere:
//
//	              ImportIDs, or a document carries the legacy id
//	       unmapped ------------------------------------------> stale
//	         |  ^                                               |  ^
//	    Push |  | refused                               reading |  | the document changes, or
//	         v  |          completed or undone          or Scan v  | a reference can be resolved
//	Create -> in doubt -------------------------------------> in sync <--------> missing
//	           |   ^       Update, Delete, Import, part written  |    gone, back    |
//	           |   +---------------------------------------------+                  | Forget
//	           |                                                                    v
//	           +-----------------------------------------------------------------> none
//	                Create refused or not done, Delete done
//
// The states are:
//
//   - unmapped: no mapping has a backend id, and none has an intent. The record is invisible.
//   - in doubt: the mapping holds a write intent. Its writer, which holds the root's lock, sends
//     the write or is about to. Readers of its process wait for the lock. If an intent is found
//     while the lock is free, a write that the backend has is completed, and any other write is
//     undone. Where the backend cannot tell, a new root stays in doubt, and invisible.
//   - stale: the document has another version than the mapping, or refers to a record that has got
//     its legacy id since. It is merged before the record is returned or changed.
//   - in sync: both have the same version. The record is visible.
//   - missing: the backend does not have the mapping's document. The record is invisible.
//
// Check reports unmapped and missing records, Push creates the unmapped ones, Forget removes the
// missing ones, and Scan imports documents without a mapping, whose records are in sync at once.
// All of them follow one walk (walk.go).
//
// # How it is tested
//
// The tests join a replica on SQLite with a backend in memory that stores values less exactly and
// that refuses, hangs and loses answers on demand. They run the conformance suite, end the process
// before and after every step of every kind of write, run many writers, readers and scans at once,
// in two processes, and read the log and the counters. After each test the replica and the backend
// are compared record by record. Package reststore runs the suite over HTTP.
package replica
