// Package roots holds what one process knows of the roots of a replica beside the database: which
// are being written, and which must not be visible.
package roots
