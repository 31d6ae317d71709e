// Package config loads and validates the settings of a Portico process.
//
// # Principles
//
//  1. A setting is written once. A field of [Config], or of a struct in it, is the complete
//     definition of a setting: its type and its tags give name, kind, default, range, help
//     and flag, and [Load] stores the value in the field. The environment variable follows
//     from the name. The example file, the reference and the output of "portico config" are
//     generated from the [Settings] that the fields define.
//  2. Four layers. The YAML file overrides the defaults, PORTICO_* environment variables
//     override the file, and command-line flags override the variables. A value keeps its
//     original text, so a key of zeros is never read as a number.
//  3. All problems at once. [Load] validates every value of every layer, including values
//     that a later layer overrides, and then the conditions on combinations of settings.
//     An unknown name is an error.
//  4. Secrets are never shown. They have no flag, may be read from a file named by
//     PORTICO_<NAME>_FILE, and are masked in error messages and listings.
//  5. A list of entries with the same keys is a [Table]. Tables are set in the YAML file
//     only. Each key is defined by a field like a setting; the program checks whether an
//     entry is valid in the contract.
//  6. A setting declares whether a running process can apply a new value (Setting.Reload).
//     The check of a reload ([Config.Reload]), the listings and the documentation follow
//     from it.
//  7. Adapters define their own settings. The program passes them as [Section] values, so
//     this package does not depend on adapters.
//
// # How it is tested
//
// Table tests cover every kind of error and every step of precedence, and load real files.
// One test loads the example file with every line uncommented and expects the defaults. A
// fuzz target loads hostile files and environments, and checks that an accepted
// configuration can be loaded again from the values it lists.
package config
