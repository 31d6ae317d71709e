// Package backup has the commands that save Portico's database with its images, and bring it back:
// "portico backup" and "portico restore".
//
// The commands are flags, texts and files; package backups of the SQL store has the archive. A file
// appears under its name when it is complete and on disk, and never replaces another one.
//
// # How it is tested
//
// With the program: on every engine, everything is destroyed and restored, and the program is killed
// in the middle of a backup.
package backup
