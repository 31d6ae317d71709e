// Package importer TODO.
//
// # Transfer
//
// Package transfer copies a shop from a database of Magento 1 into a store. Package follow, above
// this one, keeps the store equal to a shop that changes: it imports by the same steps.
//
// # Principles
//
//  1. An import can be repeated and interrupted at any time: it goes on where it has stopped,
//     and a second one changes nothing. Records keep their keys.
//  2. A record that cannot be stored stops nothing. It is counted under a reason that its
//     owner understands, with its id.
//  3. Records are read by ranges of keys. The store notes a digest of what the old shop had
//     in a range once all records of it are stored; a range with the same digest is not read
//     again.
//  4. Only records that came from the old shop are removed, and never those whose resource
//     clients write here. If more are gone than is likely, none are removed until the owner
//     says that it is right.
//
// # How it is tested
//
// Imports are tested with the commands of package app, on real databases on both sides, and as part
// of every follower: after any changes the store is as if the old shop had been imported into an
// empty one.
//
// # Imagefiles
//
// Package imagefiles reads the bytes of imported images from the legacy store's media folder:
// a folder, a web server, or a tar archive.
//
// # Principles
//
//  1. The names of files come from a foreign database. A name with "..", an empty segment, a
//     control character or a backslash counts as the name of a missing file, and a folder is
//     opened so that neither a name nor a symbolic link leads out of it.
//  2. Every file is read whole, up to a limit. The limit is checked while reading: neither the
//     length that a server announces nor the one in an archive is trusted.
//  3. An archive is read once. For a tar archive only the places of its images are kept in
//     memory; from a compressed one, only the images are unpacked, into a temporary folder.
//  4. A missing file is an ordinary answer, [fs.ErrNotExist]. A transient failure, such as a
//     server that does not answer, is retried, and then an error of another kind.
//
// # How it is tested
//
// On real folders, archives and HTTP servers, with the names, links, lengths and headers that
// an attacker would choose.
package importer
