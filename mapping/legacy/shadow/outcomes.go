package shadow

// Outcomes of a read that was selected for comparison. The two answers were compared for the
// first three.
const (
	Same         = "same"
	Different    = "different"
	Inconclusive = "unsure"       // different, but a write was in progress meanwhile
	failed       = "failed"       // the other system could not answer
	dropped      = "dropped"      // the queue was full
	incomparable = "incomparable" // the client's reply was too long, incomplete, a 304, or a 503
)

// Outcomes returns all outcomes, so that metrics can start all of them at 0.
func Outcomes() []string {
	return []string{Same, Different, Inconclusive, failed, dropped, incomparable}
}
