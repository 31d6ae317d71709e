package console

import "net/http"

const (
	interfacePath = "/console/interface"
	dialectsPath  = "/console/dialects"
)

// showInterface shows the calls of the interface with their fields and errors.
func (v *visit) showInterface() error {
	calls, _, err := v.Reference()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "interface", "Interface", calls)
}

// showDialects shows the differences between the dialects of the interface.
func (v *visit) showDialects() error {
	_, dialects, err := v.Reference()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "interface", "Dialects", dialects)
}
