// Package tables defines how the records of each resource are stored, and turns records into rows and
// rows into records.
//
// The tables follow the schemas of package adapter: one table for each resource, with columns named as
// the attributes (layout.go). Attributes that the configuration adds have rows in value tables
// (added.go); no statement refers to those tables unless there are such attributes.
//
// It is tested in package sqlstore, which compares every table with its schema.
package tables
