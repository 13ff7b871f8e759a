package toolsearch_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

type watchStream = grpc.ServerStreamingServer[toolsearchv1.WatchCatalogResponse]

// scriptedServer does what a real server cannot be made to do on command, and shows what arrives there.
type scriptedServer struct {
	toolsearchv1.UnimplementedToolSearchServiceServer
	toolsearchv1.UnimplementedCatalogServiceServer
	search func(context.Context, *toolsearchv1.SearchToolsRequest) (*toolsearchv1.SearchToolsResponse, error)
	write  func(context.Context, *toolsearchv1.SyncServerRequest) (*toolsearchv1.SyncServerResponse, error)
	watch  func(watchStream) error
}

func (s *scriptedServer) SearchTools(
	ctx context.Context, request *toolsearchv1.SearchToolsRequest,
) (*toolsearchv1.SearchToolsResponse, error) {
	return s.search(ctx, request)
}

func (s *scriptedServer) SyncServer(
	ctx context.Context, request *toolsearchv1.SyncServerRequest,
) (*toolsearchv1.SyncServerResponse, error) {
	return s.write(ctx, request)
}

func (s *scriptedServer) WatchCatalog(_ *toolsearchv1.WatchCatalogRequest, stream watchStream) error {
	return s.watch(stream)
}

func serve(t *testing.T, services *scriptedServer, options ...grpc.ServerOption) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	toolsearchv1.RegisterToolSearchServiceServer(server, services)
	toolsearchv1.RegisterCatalogServiceServer(server, services)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func header(ctx context.Context, key string) string {
	values := metadata.ValueFromIncomingContext(ctx, key)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func await(t *testing.T, happened <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
}
