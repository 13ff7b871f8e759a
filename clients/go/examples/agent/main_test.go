package main

import (
	"strings"
	"testing"

	"github.com/toolsearch/toolsearch/clients/go/internal/servertest"
)

func TestTheAgentFindsAndCallsATool(t *testing.T) {
	server := servertest.Start(t, "--sample")
	var out strings.Builder
	if err := run(t.Context(), server.Address, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"found github.open_issue", "calling open_issue on github", "done: ok"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("it did not say %q:\n%s", line, &out)
		}
	}
}
