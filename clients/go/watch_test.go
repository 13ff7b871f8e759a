package toolsearch_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/internal/servertest"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

type events = iter.Seq2[*toolsearchv1.WatchCatalogResponse, error]

// pull is the events one by one. The context bounds every wait.
func pull(t *testing.T, watched events) func() *toolsearchv1.WatchCatalogResponse {
	t.Helper()
	next, stop := iter.Pull2(watched)
	t.Cleanup(stop)
	return func() *toolsearchv1.WatchCatalogResponse {
		t.Helper()
		event, err, more := next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return nil
		}
		return event
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestAWatchTellsChangesFromARevisionOnUntilTheCatalogIsDeleted(t *testing.T) {
	client := connected(t)
	first := offer(t, client, "", "a")
	offer(t, client, "", "a", "b")
	next := pull(t, client.Watch(bounded(t), &toolsearchv1.WatchCatalogRequest{FromRevision: proto.Int64(first.GetRevision())}))
	if got := next().GetChanged().GetUpsertedNames(); !slices.Equal(got, []string{"s.b"}) {
		t.Errorf("upserted %v", got)
	}
	offer(t, client, "", "b")
	if got := next().GetChanged().GetDeletedNames(); !slices.Equal(got, []string{"s.a"}) {
		t.Errorf("deleted %v", got)
	}
	if _, err := client.DeleteCatalog(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if event := next(); event.GetDeleted() == nil {
		t.Errorf("%v", event)
	}
	if event := next(); event != nil {
		t.Errorf("after the end: %v", event)
	}
}

func TestAWatchSurvivesARestartOfTheServiceAndMissesNothing(t *testing.T) {
	for how, end := range map[string]func(*servertest.Server) error{
		"drained": (*servertest.Server).Drain,
		"killed":  func(s *servertest.Server) error { s.Kill(); return nil },
	} {
		t.Run(how, func(t *testing.T) {
			address := unusedAddress(t)
			start := []string{"--listen", address, "--store", "sqlite:" + filepath.Join(t.TempDir(), "store.db")}
			before := servertest.Start(t, start...)
			client := connect(t, address)
			offer(t, client, "", "a")
			next := pull(t, client.Watch(bounded(t), nil))
			if event := next(); event.GetCurrent() == nil {
				t.Fatalf("first %v", event)
			}
			if err := end(before); err != nil {
				t.Fatal(err)
			}
			<-before.Ended()
			servertest.Start(t, start...)
			offer(t, connect(t, address), "", "a", "b")
			offer(t, connect(t, address), "", "b")
			var changed []string
			for len(changed) < 2 {
				event := next()
				changed = append(changed, event.GetChanged().GetUpsertedNames()...)
				changed = append(changed, event.GetChanged().GetDeletedNames()...)
			}
			if !slices.Equal(changed, []string{"s.b", "s.a"}) {
				t.Errorf("%v", changed)
			}
		})
	}
}

func TestAWatchOfNothingIsNotFound(t *testing.T) {
	failures := errorsOf(connected(t).Watch(bounded(t), nil))
	if len(failures) != 1 || !errors.Is(failures[0], toolsearch.ErrNotFound) {
		t.Errorf("%v", failures)
	}
}

func TestAWatchThatNeverConnectedFails(t *testing.T) {
	failures := errorsOf(connect(t, unusedAddress(t)).Watch(bounded(t), nil))
	if len(failures) != 1 || !errors.Is(failures[0], toolsearch.ErrUnavailable) {
		t.Errorf("%v", failures)
	}
}

func TestAWatchEndsWithItsContextWhileItIsReconnectingToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := servertest.Start(t)
	client := connect(t, server.Address)
	offer(t, client, "", "a")
	var last error
	for _, err := range client.Watch(ctx, nil) {
		last = err
		if err == nil {
			server.Kill()
			cancel()
		}
	}
	var given *toolsearch.Error
	if !errors.Is(last, context.Canceled) || !errors.As(last, &given) {
		t.Errorf("%v", last)
	}
}

func TestAWatchThatIsLeftEndsItsStream(t *testing.T) {
	ended := make(chan struct{})
	client := connect(t, serve(t, &scriptedServer{watch: func(stream watchStream) error {
		if err := stream.Send(&toolsearchv1.WatchCatalogResponse{Version: &toolsearchv1.Version{Revision: 1}}); err != nil {
			return err
		}
		<-stream.Context().Done()
		close(ended)
		return stream.Context().Err()
	}}))
	for range client.Watch(t.Context(), nil) {
		break
	}
	await(t, ended, "the stream goes on")
}
