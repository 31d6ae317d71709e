package plan

// The names under which a store has the results of commands, for the plan and the console.
const (
	ImportEvidence      = "import"       // the last complete [Import]
	SweepEvidence       = "sweep"        // the last [Sweep]
	SweptFieldsEvidence = "sweep_fields" // its SweptFields
)

// WholeSample is Sweep.Sample of a sweep that has read every record.
const WholeSample = "100%"

// A SweptField is a field of a call that differed in a sweep.
type SweptField struct {
	Call     string         `json:"call"`
	Field    string         `json:"field"`
	Answers  int            `json:"answers"` // that differ in it
	Examples []SweptExample `json:"examples,omitempty"`
}

// A SweptExample is a request and one difference between its answers.
type SweptExample struct {
	As        string  `json:"as"`
	Request   string  `json:"request"`
	Record    string  `json:"record,omitempty"`
	Legacy    *string `json:"legacy"`
	Candidate *string `json:"candidate"`
}
