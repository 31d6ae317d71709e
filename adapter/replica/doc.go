// Package replica makes one adapter of a backend that keeps part of what the
// contract knows, and of Portico's own database, which keeps the rest: the side.
//
// # Principles
//
//  1. The side holds every record whole, as if there were no backend. All rules of
//     records (scopes, levels of images, price lists, uniqueness, order, filters) are
//     therefore the side's, and exist once. The backend is the truth for the
//     attributes that it keeps, and for whether a record exists.
//  2. What is answered has been compared with the backend. A record is read from the
//     side, the backend's document of it is fetched, and when the two disagree the
//     side is brought up to date and read again. A record that has no entry, or whose
//     document is gone, is in no list, page or count; the side keeps it.
//  3. Agreement is kept, not computed. With each document goes a base: what the
//     backend said when the two sides agreed last. An attribute is taken over only
//     when the backend says something else than the base, so nothing is lost where
//     the backend keeps a value less exactly than the contract does.
//  4. Identity is never guessed. A legacy id belongs to a backend's id because an
//     entry of the ledger says so. A document without an entry gets the legacy id
//     that it carries itself; without one it is refused, or given the next id where
//     the operator allows that.
//  5. A write is checked and stored by the side first, then done by the backend, and
//     undone at the side when the backend refuses. A note in the ledger is made
//     before, and taken away after. One that is found says that a process died, or
//     did not learn what the backend did: the backend is then asked, and the side
//     follows it, in values that may be less exact than those that were written. All
//     notes stand in the entry of the root, whose lock the writer has. Only a process
//     that dies between the commit of a new root and its entry leaves no note: the
//     record is then not to be seen, and completed by Push.
//  6. Writers of one record take turns within a process. Two replicas that change the
//     same record at the same moment may lose one of the changes at the backend, and
//     one may undo at the side what the other is just writing: both sides agree in the
//     end all the same.
//
// # How it is tested
//
// On SQLite as the side, against a backend in memory that keeps values less exactly,
// and refuses, hangs and loses answers on demand: the conformance suite; the end of the
// process before and after every step of every kind of write; many writers, readers and
// scans at once, two processes among them. Whatever happened, both sides are compared
// record by record. Package reststore runs the suite over HTTP.
package replica
