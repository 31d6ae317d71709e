// Package replica joins a backend that owns some attributes of the records with
// Portico's local replica of them, and serves both as one adapter.
//
// # Terms
//
// A root is a record that the backend has on its own, such as a product; its parts, such
// as its stock item, are contained in the root's document. The local replica, write intents,
// backend-owned attributes and reconciling are defined in package adapter, mappings in
// package idmap.
//
// # Principles
//
//  1. The local replica holds every record completely, as if there were no backend. All
//     rules about records (scopes, levels of images, price lists, uniqueness, order,
//     filters) are applied by the replica and exist once. The backend decides the values
//     of backend-owned attributes, and whether a record exists.
//  2. Every record returned has been compared with the backend. A read takes the record
//     from the replica and fetches its document from the backend; if the document has
//     changed, the record is reconciled and read again. Lists, pages and counts leave out
//     records without a mapping, and records that the backend no longer has; the replica
//     keeps them.
//  3. Reconciling is a three-way merge (merge.go). The base is the content of the document
//     when both last agreed. A value is taken over only if the document differs from the
//     base, so nothing is lost where the backend stores a value less exactly than the
//     contract does.
//  4. Identity is never guessed. Only a mapping ties a legacy id to a backend id. A
//     document without a mapping gets the legacy id that it carries itself; if it carries
//     none, it is refused or, if the operator allows it, gets the next legacy id.
//  5. A write goes to the replica first, which checks it, then to the backend, and is
//     undone in the replica if the backend refuses it. Deletes go to the backend first.
//     The writer stores a write intent in the mapping of the root, whose lock it holds,
//     before it writes, and clears it afterwards. An intent found later means that a
//     process died or did not learn the outcome: the backend is asked, and the replica
//     follows it, possibly with less exact values than were written. While there is
//     an intent, the outbox (Options.Writes) releases nothing of the root. Scans leave an intent
//     of another process alone for a minute, as that process may still be writing; reads
//     and writes of the record wait two seconds for it. Reconciling overwrites no intent that
//     it has not seen. If a process dies between committing a new root and storing its
//     intent, the record stays invisible until Push creates it.
//     An import is such a write, of a record with its parts in several requests. Its intent
//     holds them as they were: undoing it imports them again, and reconciling then takes over
//     what the backend has done. The import can be repeated. What is new stays in the local
//     replica if the backend refuses it, and is sent again by the next import or Push.
//  6. Writers of one record take turns within a process. If two processes change the same
//     record at the same moment, the backend may lose one of the changes, and one process
//     may undo in the replica what the other is writing; the replica and the backend
//     nevertheless agree in the end.
//
// # States of a root
//
// A row joins what the local replica, the ID map and the backend hold of one record. Its
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
// What the states mean:
//
//   - unmapped: there is no mapping with a backend id, and no intent. The record is
//     invisible.
//   - in doubt: the mapping holds a write intent. Its writer, which holds the root's lock,
//     sends the write or is about to. Readers of its process wait for the lock. If an intent
//     is found without it, a write that the backend has is completed, and any other undone.
//     Where the backend cannot tell, a new root stays in doubt, and invisible.
//   - stale: the document has another version than the mapping. It is merged before the
//     record is returned or changed.
//   - in sync: both have the same version. The record is visible.
//   - missing: the backend does not have the document of the mapping. The record is
//     invisible.
//
// Check reports unmapped and missing records, Push creates those that are unmapped, Forget
// removes those that are missing, and Scan imports documents without a mapping, whose
// records are in sync at once. All of them follow one walk (walk.go), and differ in what
// they do with a row.
//
// # How it is tested
//
// The tests join a replica on SQLite with a backend in memory that stores values less
// exactly and that refuses, hangs and loses answers on demand. They run the conformance
// suite, end the process before and after every step of every kind of write, and run many
// writers, readers and scans at once, in two processes. After each test the replica and
// the backend are compared record by record. Package reststore runs the suite over HTTP.
package replica
