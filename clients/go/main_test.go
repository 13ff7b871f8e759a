package toolsearch_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/internal/servertest"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

const patience = 20 * time.Second

// One server for all tests that do not care how it was started; each has a tenant of its own.
var shared *servertest.Server

func TestMain(m *testing.M) {
	var err error
	if shared, err = servertest.Launch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Kill()
	os.Exit(code)
}

var tenants atomic.Int64

func newTenant() string { return fmt.Sprintf("tenant-%d", tenants.Add(1)) }

func connect(t *testing.T, target string, options ...toolsearch.Option) *toolsearch.Client {
	t.Helper()
	client, err := toolsearch.New(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// connected is a client of the shared server, as a tenant that nobody else is.
func connected(t *testing.T, options ...toolsearch.Option) *toolsearch.Client {
	t.Helper()
	return connect(t, shared.Address, append([]toolsearch.Option{toolsearch.WithTenant(newTenant())}, options...)...)
}

// offer makes these, described as "thing", all that server s offers in a catalog.
func offer(t *testing.T, client *toolsearch.Client, catalog string, names ...string) *toolsearchv1.Version {
	t.Helper()
	request := &toolsearchv1.SyncServerRequest{Catalog: catalog, Server: "s"}
	for _, name := range names {
		definition := fmt.Sprintf(`{"name":%q,"description":"thing","inputSchema":{"type":"object"}}`, name)
		request.Entries = append(request.Entries, &toolsearchv1.EntryInput{Definition: definition})
	}
	response, err := client.SyncServer(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return response.GetVersion()
}

func searchFor(query string) *toolsearchv1.SearchToolsRequest {
	return &toolsearchv1.SearchToolsRequest{Queries: []string{query}}
}

func names(matches []*toolsearchv1.Match) (found []string) {
	for _, match := range matches {
		found = append(found, match.GetEntry().GetName())
	}
	return found
}
