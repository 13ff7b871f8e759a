package toolsearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// The format is told in tests/vectors/README.md.
type story struct{ Steps []step }

type step struct {
	About, Method string
	Request       map[string]any
	Response      any
	Responses     []any
	Error         *refusal
}

type refusal struct{ Code, Reason, Field string }

func TestTheClientGetsWhatTheSharedVectorsSay(t *testing.T) {
	files, err := filepath.Glob("../../tests/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var told story
			if err := json.Unmarshal(data, &told); err != nil {
				t.Fatal(err)
			}
			client := connected(t)
			for _, step := range told.Steps {
				step.replay(t, client)
			}
		})
	}
}

func (s step) replay(t *testing.T, client *toolsearch.Client) {
	t.Helper()
	expected := s.Responses
	if expected == nil {
		expected = []any{s.Response}
	}
	for answered, err := range s.answers(bounded(t), t, client) {
		var failed *toolsearch.Error
		if errors.As(err, &failed) && s.Error != nil {
			if got := (refusal{code.Code(failed.Code).String(), failed.Reason, failed.Field}); got != *s.Error {
				t.Errorf("%s: refused with %v, not %v", s.About, got, *s.Error)
			}
			return
		}
		if err != nil || s.Error != nil {
			t.Fatalf("%s: %v, %v", s.About, answered, err)
		}
		for _, difference := range missing(expected[0], plain(t, answered), "") {
			t.Errorf("%s: %s", s.About, difference)
		}
		if expected = expected[1:]; len(expected) == 0 {
			return
		}
	}
	t.Errorf("%s: too few answers", s.About)
}

// answers are what the client's own methods give for the step's request.
func (s step) answers(ctx context.Context, t *testing.T, client *toolsearch.Client) iter.Seq2[proto.Message, error] {
	method := reflect.ValueOf(client).MethodByName(s.Method)
	request := reflect.New(method.Type().In(1).Elem()).Interface().(proto.Message)
	text, err := json.Marshal(withDefinitionsAsText(s.Request))
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, request); err != nil {
		t.Fatalf("%s: %v", s.About, err)
	}
	switch request := request.(type) {
	case *toolsearchv1.ListToolsRequest:
		return whole(client.Tools(ctx, request), func(all []*toolsearchv1.Entry) proto.Message {
			return &toolsearchv1.ListToolsResponse{Entries: all}
		})
	case *toolsearchv1.ListNamespacesRequest:
		return whole(client.Namespaces(ctx, request), func(all []*toolsearchv1.Namespace) proto.Message {
			return &toolsearchv1.ListNamespacesResponse{Namespaces: all}
		})
	case *toolsearchv1.ListCatalogsRequest:
		return whole(client.Catalogs(ctx, request), func(all []*toolsearchv1.CatalogListing) proto.Message {
			return &toolsearchv1.ListCatalogsResponse{Catalogs: all}
		})
	case *toolsearchv1.ListTenantsRequest:
		return whole(client.Tenants(ctx, request), func(all []*toolsearchv1.TenantListing) proto.Message {
			return &toolsearchv1.ListTenantsResponse{Tenants: all}
		})
	case *toolsearchv1.ReadResourceRequest:
		return func(yield func(proto.Message, error) bool) {
			_, content, err := client.Resource(ctx, request)
			yield(&toolsearchv1.ReadResourceResponse{Data: content}, err)
		}
	case *toolsearchv1.WatchCatalogRequest:
		return func(yield func(proto.Message, error) bool) {
			for event, err := range client.Watch(ctx, request) {
				if !yield(event, err) {
					return
				}
			}
		}
	}
	return func(yield func(proto.Message, error) bool) {
		results := method.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(request)})
		err, _ := results[1].Interface().(error)
		yield(results[0].Interface().(proto.Message), err)
	}
}

// whole is one response with the items of all pages.
func whole[Item any](items iter.Seq2[Item, error], response func([]Item) proto.Message) iter.Seq2[proto.Message, error] {
	return func(yield func(proto.Message, error) bool) {
		var all []Item
		for item, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			all = append(all, item)
		}
		yield(response(all), nil)
	}
}

func withDefinitionsAsText(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = withDefinitionsAsText(value[i])
		}
	case map[string]any:
		for name, member := range value {
			if definition, is := member.(map[string]any); is && name == "definition" {
				text, _ := json.Marshal(definition) // it was JSON a moment ago
				value[name] = string(text)
				continue
			}
			value[name] = withDefinitionsAsText(member)
		}
	}
	return value
}

func plain(t *testing.T, message proto.Message) (value any) {
	t.Helper()
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// missing is what was expected and is not so.
func missing(expected, answered any, path string) (differences []string) {
	if text, is := answered.(string); is && (strings.HasSuffix(path, ".definition") || strings.HasSuffix(path, ".payload")) {
		var meant any
		if json.Unmarshal([]byte(text), &meant) == nil {
			answered = meant
		}
	}
	switch expected := expected.(type) {
	case map[string]any:
		if answered, is := answered.(map[string]any); is {
			for name, member := range expected {
				differences = append(differences, missing(member, answered[name], path+"."+name)...)
			}
			return differences
		}
	case []any:
		if answered, is := answered.([]any); is && len(answered) == len(expected) {
			for i, item := range expected {
				differences = append(differences, missing(item, answered[i], fmt.Sprintf("%s[%d]", path, i))...)
			}
			return differences
		}
	}
	if !reflect.DeepEqual(expected, answered) {
		return []string{fmt.Sprintf("%s should be %v, not %v", path, expected, answered)}
	}
	return nil
}
