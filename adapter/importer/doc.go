// Package importer copies a legacy store from a database of Magento 1 into a store of Portico: its
// records, its credentials and the bytes of its images. Package follow imports by the same steps to
// keep the store equal to a legacy store that changes.
//
// # Principles
//
//  1. An import can be repeated, and interrupted at any time: the next one continues where it
//     stopped, and an import without changes in between changes nothing. Records keep their keys.
//  2. A record that cannot be stored does not stop the import. It is counted, with its id, under a
//     reason that the owner of the legacy store understands.
//  3. Records are read by ranges of keys. Once all records of a range are stored, the store notes a
//     digest of the range's content in the legacy store. A range with an unchanged digest is not
//     read again.
//  4. Only records that came from the legacy store are removed, and never records of a resource
//     that clients write in Portico. If more records are gone than is likely, none are removed
//     until the owner confirms it.
//  5. Images come from the legacy store's media folder: a folder, a web server or a tar archive. A
//     missing file is an ordinary answer, [fs.ErrNotExist]. A transient failure, such as a server
//     that does not answer, is retried, and then an error of another kind.
//  6. The names of image files come from a foreign database. A name with "..", an empty segment, a
//     control character or a backslash counts as the name of a missing file. Neither a name nor a
//     symbolic link can lead out of the folder.
//  7. Every image file is read whole, up to a limit that is checked while reading: lengths that a
//     server or an archive announces are not trusted.
//  8. An archive is read once. The positions of the images in a tar archive are kept in memory; the
//     images of a compressed archive are unpacked into a temporary folder.
//
// # How it is tested
//
// The tests run Portico's commands with real databases on both sides, and kill imports at many
// moments. Following is tested, too: after any changes the store must be as if the legacy store had
// been imported into an empty one. Images are read from real folders, archives and HTTP servers,
// with the names, links, lengths and headers that an attacker would choose.
package importer
