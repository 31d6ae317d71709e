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
package imagefiles
