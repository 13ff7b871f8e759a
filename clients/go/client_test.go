package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

func TestAWriteIsFoundByTheNextSearch(t *testing.T) {
	client := connected(t)
	for i := range 20 {
		name := fmt.Sprintf("tool_%d", i)
		offer(t, client, "", name)
		found, err := client.SearchTools(t.Context(), searchFor("thing"))
		if err != nil {
			t.Fatal(err)
		}
		if got := names(found.GetMatches()); !slices.Equal(got, []string{"s." + name}) {
			t.Fatalf("after writing %s: %v", name, got)
		}
	}
}

func TestARequestWithoutACatalogMeansTheClientsOwn(t *testing.T) {
	tenant := toolsearch.WithTenant(newTenant())
	client := connect(t, shared.Address, tenant, toolsearch.WithCatalog("mine"))
	offer(t, client, "", "a")
	offer(t, client, "other", "b")
	for catalog, want := range map[string]string{"": "s.a", "mine": "s.a", "other": "s.b"} {
		request := searchFor("thing")
		request.Catalog = catalog
		found, err := client.SearchTools(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(found.GetMatches()); !slices.Equal(got, []string{want}) {
			t.Errorf("catalog %q: %v", catalog, got)
		}
	}
	_, err := connect(t, shared.Address, tenant).SearchTools(t.Context(), searchFor("thing"))
	if !errors.Is(err, toolsearch.ErrNotFound) {
		t.Errorf("the default catalog: %v", err)
	}
}

func TestTheCallersRequestIsNotChanged(t *testing.T) {
	client := connected(t)
	offer(t, client, "", "a")
	request := searchFor("thing")
	given := proto.CloneOf(request)
	if _, err := client.SearchTools(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(request, given) {
		t.Errorf("it became %v", request)
	}
}

func TestAClientMayBeSharedByGoroutines(t *testing.T) {
	client := connected(t)
	offer(t, client, "", "a")
	request := searchFor("thing")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			if i%2 == 0 {
				offer(t, client, "", "a", fmt.Sprintf("b%d", i))
			}
			if found, err := client.SearchTools(t.Context(), request); err != nil || len(found.GetMatches()) == 0 {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
	group.Wait()
}

func TestCatalogsOfTenantsAreApart(t *testing.T) {
	offer(t, connected(t), "", "a")
	if _, err := connected(t).SearchTools(t.Context(), searchFor("thing")); !errors.Is(err, toolsearch.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
}

func TestARefusalSaysWhatWhereAndWhy(t *testing.T) {
	client := connected(t)
	offer(t, client, "", "a")
	_, err := client.SearchTools(t.Context(), &toolsearchv1.SearchToolsRequest{Queries: []string{"x"}, Limit: -1})
	var refused *toolsearch.Error
	if !errors.As(err, &refused) || !errors.Is(err, toolsearch.ErrInvalid) || errors.Is(err, toolsearch.ErrNotFound) {
		t.Fatalf("%v", err)
	}
	if refused.Code != codes.InvalidArgument || refused.Reason != "FIELD_INVALID" || refused.Field != "limit" || refused.Given != "-1" {
		t.Errorf("%+v", refused)
	}
	if refused.Allowed == "" || refused.Metadata["allowed"] != refused.Allowed {
		t.Errorf("allowed: %q, metadata %v", refused.Allowed, refused.Metadata)
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("package status says %v", status.Code(err))
	}
	if !strings.Contains(err.Error(), "limit") || !strings.HasSuffix(err.Error(), "(FIELD_INVALID)") {
		t.Errorf("it reads %q", err)
	}
}

func TestAServiceThatIsNotThereIsUnavailableAndTheErrorSaysWhere(t *testing.T) {
	target := unusedAddress(t)
	_, err := connect(t, target).SearchTools(t.Context(), searchFor("x"))
	var failed *toolsearch.Error
	if !errors.Is(err, toolsearch.ErrUnavailable) || !errors.As(err, &failed) || failed.Reason != "" || !strings.Contains(err.Error(), target) {
		t.Errorf("%v", err)
	}
}

func TestAServiceThatDoesNotAnswerRunsOutOfTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := connect(t, silent.Addr().String(), toolsearch.WithTimeout(200*time.Millisecond))
	if _, err := client.SearchTools(t.Context(), searchFor("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestACallThatIsGivenUpIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := func(call context.Context, _ *toolsearchv1.SearchToolsRequest) (*toolsearchv1.SearchToolsResponse, error) {
		cancel()
		<-call.Done()
		return nil, call.Err()
	}
	if _, err := connect(t, serve(t, &scriptedServer{search: waiting})).SearchTools(ctx, searchFor("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAPageAtATimeEverythingComes(t *testing.T) {
	client := connected(t)
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("s.tool_%02d", i))
	}
	offer(t, client, "", strings.Split(strings.ReplaceAll(strings.Join(want, " "), "s.", ""), " ")...)
	request := &toolsearchv1.ListToolsRequest{PageSize: 10}
	for range 2 { // an iterator may be used again
		var got []string
		for entry, err := range client.Tools(t.Context(), request) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, entry.GetName())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
	if request.GetPageToken() != "" {
		t.Errorf("the caller's request has become %v", request)
	}
}

func TestNamespacesAndCatalogsAreGoneThrough(t *testing.T) {
	client := connected(t)
	for _, catalog := range []string{"one", "three", "two"} {
		offer(t, client, catalog, "a.x", "b.y")
	}
	var got []string
	for catalog, err := range client.Catalogs(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		for space, err := range client.Namespaces(t.Context(), &toolsearchv1.ListNamespacesRequest{Catalog: catalog.GetName(), PageSize: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, catalog.GetName()+":"+space.GetName())
		}
	}
	want := strings.Fields("one:s one:s.a one:s.b three:s three:s.a three:s.b two:s two:s.a two:s.b")
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestAnIteratorEndsWithItsError(t *testing.T) {
	if failures := errorsOf(connected(t).Tools(t.Context(), nil)); len(failures) != 1 || !errors.Is(failures[0], toolsearch.ErrNotFound) {
		t.Errorf("%v", failures)
	}
}

func TestDefinitionsThatDoNotFitIntoOneAnswerComeAllTheSame(t *testing.T) {
	client := connected(t)
	request := &toolsearchv1.SyncServerRequest{Server: "s"}
	get := &toolsearchv1.GetToolsRequest{}
	for i := range 40 {
		definition := fmt.Sprintf(`{"name":"t%02d","description":%q}`, i, strings.Repeat("word ", 30_000))
		request.Entries = append(request.Entries, &toolsearchv1.EntryInput{Definition: definition})
		get.Names = append(get.Names, fmt.Sprintf("s.t%02d", i))
	}
	if _, err := client.SyncServer(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	one, err := client.ToolSearchServiceClient.GetTools(t.Context(), get)
	if err != nil || len(one.GetOmittedNames()) == 0 {
		t.Fatalf("one answer has all: %d entries, %v", len(one.GetEntries()), err)
	}
	all, err := client.GetTools(t.Context(), get)
	if err != nil || len(all.GetOmittedNames()) != 0 {
		t.Fatalf("%v omitted, %v", all.GetOmittedNames(), err)
	}
	for i, entry := range all.GetEntries() {
		if entry.GetName() != get.GetNames()[i] || entry.GetDefinition() != request.GetEntries()[i].GetDefinition() {
			t.Errorf("entry %d is %s", i, entry.GetName())
		}
	}
	if len(all.GetEntries()) != len(get.GetNames()) {
		t.Errorf("%d entries", len(all.GetEntries()))
	}
}

func errorsOf[Item any](items iter.Seq2[Item, error]) (failures []error) {
	for _, err := range items {
		failures = append(failures, err)
	}
	return failures
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
