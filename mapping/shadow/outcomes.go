package shadow

// What became of a read that was to be compared.
const (
	same         = "same"
	different    = "different"
	unsure       = "unsure"       // different, and something was written meanwhile
	failed       = "failed"       // the other side could not answer
	dropped      = "dropped"      // there was no room
	incomparable = "incomparable" // the client's reply was too long, broken off, or 503
)

// Outcomes lists what becomes of reads that are to be compared, for counts that begin
// at 0.
func Outcomes() []string {
	return []string{same, different, unsure, failed, dropped, incomparable}
}
