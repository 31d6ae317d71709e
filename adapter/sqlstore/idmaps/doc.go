// Package idmaps stores the ID map of a local replica: the mapping of legacy ids to backend ids.
//
// The table backend_record also holds the write intents. All writers lock mappings in the same
// order.
//
// It is tested in package sqlstore, whose Replica is a local replica with such an ID map.
package idmaps
