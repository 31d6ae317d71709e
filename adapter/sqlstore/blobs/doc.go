// Package blobs stores the bytes of images: as files in a folder, or by an implementation of [Store]
// in a package below.
//
// # Principles
//
//  1. The bytes of an image are complete and durable before the transaction commits that refers to
//     them. Bytes that no row refers to do no harm, and are removed later.
//  2. A folder has each file under the name that table media_file has. A store without a rename, in
//     which a late write could replace bytes that others have acknowledged since, stores each
//     upload under a key of its own instead, which the row of the name then has as well.
//  3. A store belongs to one database, which its marker names. Others may read and neither write nor
//     remove anything: a restored copy of a database knows the names of all images of the original.
//
// It is tested with files that are published, discarded and abandoned.
package blobs
