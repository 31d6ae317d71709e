package capacity

import "flag"

// update has TestTables write the tables that it otherwise compares.
var update = flag.Bool("update", false, "write the tables of SCALE.md")
