// Command load searches and writes through the Go client, spread over replicas, until its standard input ends. Then it prints what it did, and what
// failed, as JSON. Its arguments are the addresses of the replicas.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

const (
	searchers = 3
	pause     = 2 * time.Millisecond
)

type result struct {
	Searches atomic.Int64
	Writes   atomic.Int64

	mutex    sync.Mutex
	failures []string
}

func (r *result) took(what *atomic.Int64, err error) {
	if err == nil {
		what.Add(1)
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failures = append(r.failures, err.Error())
}

func main() {
	replicas := manual.NewBuilderWithScheme("replicas")
	var endpoints []resolver.Endpoint
	for _, address := range os.Args[1:] {
		endpoints = append(endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
	}
	replicas.InitialState(resolver.State{Endpoints: endpoints})
	client, err := toolsearch.New("replicas:///", toolsearch.WithDialOptions(grpc.WithResolvers(replicas)), toolsearch.WithTenant("go"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()

	var done result
	stopped := make(chan struct{})
	var working sync.WaitGroup
	write := func(number int) error {
		definition := fmt.Sprintf(`{"name": "t%d", "description": "thing", "inputSchema": {"type": "object"}}`, number)
		_, err := client.SyncServer(context.Background(), &toolsearchv1.SyncServerRequest{
			Server: "s", Entries: []*toolsearchv1.EntryInput{{Definition: definition}},
		})
		return err
	}
	if err := write(-1); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	until := func(work func(number int)) {
		working.Go(func() {
			for number := 0; ; number++ {
				select {
				case <-stopped:
					return
				case <-time.After(pause):
					work(number)
				}
			}
		})
	}
	for range searchers {
		until(func(int) {
			_, err := client.SearchTools(context.Background(), &toolsearchv1.SearchToolsRequest{Queries: []string{"thing"}})
			done.took(&done.Searches, err)
		})
	}
	until(func(number int) { done.took(&done.Writes, write(number%50)) })
	fmt.Println("running")
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(stopped)
	working.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"searches": done.Searches.Load(), "writes": done.Writes.Load(), "failures": append([]string{}, done.failures...),
	})
}
