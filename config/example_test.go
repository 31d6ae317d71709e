package config_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/portico-commerce/portico/config"
)

// Each setting can be set by an environment variable that is named after it.
func ExampleLoad() {
	c, err := config.Load(config.Sources{
		Sections: []config.Section{{Name: "sql"}},
		Environ:  []string{"PORTICO_LISTEN=127.0.0.1:8080", "PORTICO_LOG_LEVEL=debug"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Listen, c.LogLevel, c.Dialect)
	// Output: 127.0.0.1:8080 DEBUG documented
}

// Load reports all faults at once, so that one start shows everything that needs correction.
func ExampleLoad_faults() {
	_, err := config.Load(config.Sources{
		Sections: []config.Section{{Name: "sql"}},
		Environ:  []string{"PORTICO_LOG_LEVEL=loud", "PORTICO_DIALECT=french"},
	})
	var faults config.Faults
	if errors.As(err, &faults) {
		for _, fault := range faults {
			fmt.Println(fault)
		}
	}
	// Output:
	// environment PORTICO_DIALECT: dialect: "french" must be one of documented, magento, openmage
	// environment PORTICO_LOG_LEVEL: log.level: "loud" must be one of debug, info, warn, error
}

// WriteTable shows the settings in force and where each value comes from.
func ExampleWriteTable() {
	c, err := config.Load(config.Sources{
		Sections: []config.Section{{Name: "sql"}},
		Environ:  []string{"PORTICO_LISTEN=127.0.0.1:9000"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := config.WriteTable(os.Stdout, config.Changed(c.Rows())); err != nil {
		fmt.Println(err)
	}
	// Output:
	// SETTING  VALUE           SOURCE                      DEFAULT         RELOAD
	// listen   127.0.0.1:9000  environment PORTICO_LISTEN  127.0.0.1:8080  -
}
