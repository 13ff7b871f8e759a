package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

func ExampleNew() {
	client, err := toolsearch.New("dns:///toolsearch.example:443",
		toolsearch.WithTLS(nil),
		toolsearch.WithAPIKey(os.Getenv("TOOLSEARCH_API_KEY")),
		toolsearch.WithCatalog("engineering"),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	found, err := client.SearchTools(context.Background(), &toolsearchv1.SearchToolsRequest{
		Queries: []string{"open a bug report"},
		Filter:  &toolsearchv1.Filter{Destructive: new(bool)}, // nothing that destroys
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, match := range found.GetMatches() {
		fmt.Println(match.GetEntry().GetName(), match.GetRelevance(), match.GetReason())
	}
}

func ExampleEntriesFromMCP() {
	entries, err := toolsearch.EntriesFromMCP([]byte(`{"tools": [{"name": "open_issue", "inputSchema": {"type": "object"}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entries[0].GetDefinition())
	// Then: client.SyncServer(ctx, &toolsearchv1.SyncServerRequest{Server: "github", Entries: entries})

	// Output: {"name":"open_issue","inputSchema":{"type":"object"}}
}

func ExampleError() {
	var client *toolsearch.Client // from New
	var ctx context.Context

	write := func() error {
		_, err := client.ApplyChanges(ctx, &toolsearchv1.ApplyChangesRequest{Deletes: []string{"github.open_issue"}})
		var refused *toolsearch.Error
		switch {
		case errors.Is(err, toolsearch.ErrConflict):
			return fmt.Errorf("somebody else changed the catalog: %w", err)
		case errors.As(err, &refused) && refused.Field != "":
			return fmt.Errorf("%s was %s, but may be %s", refused.Field, refused.Given, refused.Allowed)
		}
		return err
	}
	_ = write
}

func ExampleClient_Tools() {
	var client *toolsearch.Client // from New
	var ctx context.Context

	list := func() error {
		for entry, err := range client.Tools(ctx, &toolsearchv1.ListToolsRequest{Detail: toolsearchv1.Detail_DETAIL_FULL}) {
			if err != nil {
				return err
			}
			fmt.Println(entry.GetName(), entry.GetDefinition())
		}
		return nil
	}
	_ = list
}

func ExampleClient_Watch() {
	var client *toolsearch.Client // from New
	var ctx context.Context

	follow := func() error {
		for event, err := range client.Watch(ctx, nil) {
			if err != nil {
				return err
			}
			switch {
			case event.GetChanged() != nil:
				fmt.Println("changed:", event.GetChanged().GetUpsertedNames(), "gone:", event.GetChanged().GetDeletedNames())
			case event.GetSnapshotNeeded() != nil:
				fmt.Println("changes were missed: read the catalog anew")
			}
		}
		return nil // the catalog was deleted
	}
	_ = follow
}
