package compare

// Outcomes of a read that was selected for comparison. The two answers were compared for the
// first three.
const (
	ShadowSame   = "same"
	Different    = "different"
	Inconclusive = "unsure"       // different, but a write was in progress meanwhile
	failed       = "failed"       // the other system could not answer
	dropped      = "dropped"      // the queue was full
	incomparable = "incomparable" // the client's reply was too long, incomplete, a 304, or a 503
)

// ShadowOutcomes returns all outcomes, so that metrics can start all of them at 0.
func ShadowOutcomes() []string {
	return []string{ShadowSame, Different, Inconclusive, failed, dropped, incomparable}
}
