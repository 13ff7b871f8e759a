package toolsearch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/internal/servertest"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

func TestCallsAreSpreadAndAReplicaThatDrainsGetsNone(t *testing.T) {
	draining, staying := servertest.Start(t, "--drain-delay", "600"), servertest.Start(t)
	epochs := map[string]*servertest.Server{} // replicas with stores of their own, told apart by what they hold
	replicas := manual.NewBuilderWithScheme("replicas")
	var addresses []resolver.Endpoint
	for _, server := range []*servertest.Server{draining, staying} {
		epochs[offer(t, connect(t, server.Address), "", "a").GetEpoch()] = server
		addresses = append(addresses, resolver.Endpoint{Addresses: []resolver.Address{{Addr: server.Address}}})
	}
	replicas.InitialState(resolver.State{Endpoints: addresses})
	client := connect(t, "replicas:///", toolsearch.WithDialOptions(grpc.WithResolvers(replicas)))

	// answering is who answers the next twenty calls.
	answering := func() map[*servertest.Server]bool {
		answered := map[*servertest.Server]bool{}
		for range 20 {
			found, err := client.SearchTools(t.Context(), searchFor("thing"))
			if err != nil {
				t.Fatal(err)
			}
			answered[epochs[found.GetVersion().GetEpoch()]] = true
		}
		return answered
	}
	until(t, "both replicas answer", func() bool { return len(answering()) == 2 })
	if err := draining.Drain(); err != nil {
		t.Fatal(err)
	}
	until(t, "the draining replica is left alone", func() bool { return !answering()[draining] })
	select {
	case <-draining.Ended():
		t.Error("it ended, which proves nothing about its health")
	default:
	}
}

func TestReadsAreRetriedWhileTheServiceIsUnavailable(t *testing.T) {
	var attempts atomic.Int32
	client := connect(t, serve(t, &scriptedServer{search: func(context.Context, *toolsearchv1.SearchToolsRequest) (*toolsearchv1.SearchToolsResponse, error) {
		if attempts.Add(1) < 3 {
			return nil, status.Error(codes.Unavailable, "not now")
		}
		return &toolsearchv1.SearchToolsResponse{Total: 7}, nil
	}}))
	found, err := client.SearchTools(t.Context(), searchFor("x"))
	if err != nil || found.GetTotal() != 7 || attempts.Load() != 3 {
		t.Errorf("%v, %v after %d attempts", found, err, attempts.Load())
	}
}

func TestWritesAreSentOnce(t *testing.T) {
	var attempts atomic.Int32
	client := connect(t, serve(t, &scriptedServer{write: func(context.Context, *toolsearchv1.SyncServerRequest) (*toolsearchv1.SyncServerResponse, error) {
		attempts.Add(1)
		refusal, _ := status.New(codes.Unavailable, "not now").WithDetails(
			&errdetails.ErrorInfo{Reason: "STORE_UNAVAILABLE"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
		return nil, refusal.Err()
	}}))
	_, err := client.SyncServer(t.Context(), &toolsearchv1.SyncServerRequest{Server: "s"})
	var refused *toolsearch.Error
	if !errors.Is(err, toolsearch.ErrUnavailable) || !errors.As(err, &refused) || attempts.Load() != 1 {
		t.Fatalf("%v after %d attempts", err, attempts.Load())
	}
	if refused.Reason != "STORE_UNAVAILABLE" || refused.RetryAfter != 3*time.Second {
		t.Errorf("%+v", refused)
	}
}

func TestReadsAskForTheLatestVersionWrittenUnlessAnyWillDo(t *testing.T) {
	versions := make(chan *toolsearchv1.Version, 3)
	asked := make(chan *toolsearchv1.SearchToolsRequest, 1)
	client := connect(t, serve(t, &scriptedServer{
		write: func(context.Context, *toolsearchv1.SyncServerRequest) (*toolsearchv1.SyncServerResponse, error) {
			return &toolsearchv1.SyncServerResponse{Version: <-versions}, nil
		},
		search: func(_ context.Context, request *toolsearchv1.SearchToolsRequest) (*toolsearchv1.SearchToolsResponse, error) {
			asked <- request
			return &toolsearchv1.SearchToolsResponse{}, nil
		},
	}))
	request := func(catalog string, revision int64, options ...grpc.CallOption) *toolsearchv1.SearchToolsRequest {
		_, err := client.SearchTools(t.Context(), &toolsearchv1.SearchToolsRequest{Catalog: catalog, MinRevision: revision}, options...)
		if err != nil {
			t.Fatal(err)
		}
		return <-asked
	}
	expect := func(when string, got *toolsearchv1.SearchToolsRequest, revision int64, epoch string) {
		t.Helper()
		if got.GetMinRevision() != revision || got.GetEpoch() != epoch {
			t.Errorf("%s: asked for %d of %q", when, got.GetMinRevision(), got.GetEpoch())
		}
	}
	expect("before any write", request("", 0), 0, "")
	for _, step := range []struct {
		answered, expected *toolsearchv1.Version
	}{
		{&toolsearchv1.Version{Epoch: "e", Revision: 5}, &toolsearchv1.Version{Epoch: "e", Revision: 5}},
		{&toolsearchv1.Version{Epoch: "e", Revision: 4}, &toolsearchv1.Version{Epoch: "e", Revision: 5}}, // overtaken on its way
		{&toolsearchv1.Version{Epoch: "f", Revision: 1}, &toolsearchv1.Version{Epoch: "f", Revision: 1}},
	} {
		versions <- step.answered
		offer(t, client, "")
		expect("after a write", request("", 0), step.expected.GetRevision(), step.expected.GetEpoch())
	}
	expect("by its name", request("default", 0), 1, "f")
	expect("another catalog", request("other", 0), 0, "")
	expect("a revision of the caller's", request("", 3), 3, "")
	expect("any revision", request("", 0, toolsearch.AnyRevision()), 0, "")
}

// until waits for a condition that has no event, with a bound.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
