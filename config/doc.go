// Package config reads the settings of a running Portico: one table, four
// layers, every fault at once.
//
// # Principles
//
//  1. One table. A row of [Settings] is all there is to know of a setting: name,
//     kind, default, help, flag. The environment name follows from the name, and
//     the example file and the output of "portico config" are made from the rows.
//  2. Four layers, each over the one before: default, YAML file, PORTICO_*
//     environment, command line. A value keeps the text it was written as, so a
//     key of zeros is never read as a number.
//  3. All faults at once. [Load] checks every value of every layer, also those
//     that a later layer replaces, and then the conditions that several settings
//     have to meet together. A name it does not know is a fault as well.
//  4. Secrets never show. They have no flag, may be read from a file named by
//     PORTICO_<NAME>_FILE, and are replaced in faults and listings.
//  5. What is a list of things, not a value, is a [Table]: entries with the same
//     keys, in the file alone. A key is a row like a setting; whether an entry fits
//     the contract is asked of the program.
//  6. Adapters declare their own settings; the program hands them over as
//     [Section] values. This package knows none of them.
//
// # How it is tested
//
// Table tests name each kind of fault and each step of precedence, and load real
// files. The example file is loaded with every line put in force and must give
// the defaults. A fuzz target loads hostile files and environments: what loads
// must load again from the values it lists.
package config
