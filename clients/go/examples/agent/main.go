// Agent is the smallest loop of an agent that finds its tools instead of carrying them all: the model starts with one tool,
// find_tools, and gets the definitions of what it finds. The model is scripted, so that the example needs no key.
//
//	make run                                     # a server with a sample catalog, in another terminal
//	go run ./examples/agent [HOST:PORT]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

const findTools = `{
	"name": "find_tools",
	"description": "Finds tools for a task, described in a few words. They can be called from the next turn on.",
	"inputSchema": {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
}`

// call is what a model answers when it wants a tool; without a name it is done, and says so in text.
type call struct {
	name      string
	arguments map[string]string
	text      string
}

// model stands for a provider's API: it sees the tools and the result of its last call, and answers.
type model func(tools []json.RawMessage, result string) call

type agent struct {
	client *toolsearch.Client
	model  model
	out    io.Writer
	loaded map[string]*toolsearchv1.Entry // by alias: what the model may call
}

func (a *agent) run(ctx context.Context, task string) error {
	tools := []json.RawMessage{json.RawMessage(findTools)}
	for result := task; ; {
		wanted := a.model(tools, result)
		switch entry := a.loaded[wanted.name]; {
		case wanted.name == "":
			fmt.Fprintln(a.out, "done:", wanted.text)
			return nil
		case wanted.name == "find_tools":
			found, message, err := a.find(ctx, wanted.arguments["task"])
			if err != nil {
				return err
			}
			tools, result = append(tools, found...), message
		case entry == nil:
			result = "there is no tool " + wanted.name // a model's mistake is its to correct
		default:
			result = a.call(entry, wanted.arguments)
		}
	}
}

// find searches and loads the definitions of what was found.
func (a *agent) find(ctx context.Context, task string) (tools []json.RawMessage, message string, err error) {
	found, err := a.client.SearchTools(ctx, &toolsearchv1.SearchToolsRequest{Queries: []string{task}, Limit: 3})
	if err != nil {
		return nil, "", err
	}
	if len(found.GetMatches()) == 0 {
		return nil, found.GetMessage(), nil
	}
	var names []string
	for _, match := range found.GetMatches() {
		fmt.Fprintf(a.out, "found %s (%.2f): %s\n", match.GetEntry().GetName(), match.GetRelevance(), match.GetReason())
		names = append(names, match.GetEntry().GetName())
	}
	described, err := a.client.GetTools(ctx, &toolsearchv1.GetToolsRequest{Names: names})
	if err != nil {
		return nil, "", err
	}
	for _, entry := range described.GetEntries() {
		if a.loaded[entry.GetAlias()] != nil {
			continue // providers refuse two tools of one name
		}
		tool, err := toolsearch.ToolForModel(entry)
		if err != nil {
			return nil, "", err
		}
		a.loaded[entry.GetAlias()] = entry
		tools = append(tools, tool)
	}
	return tools, found.GetMessage(), nil
}

// call is where a real agent talks to the MCP server.
func (a *agent) call(entry *toolsearchv1.Entry, arguments map[string]string) string {
	fmt.Fprintf(a.out, "calling %s on %s with %v\n", entry.GetLocalName(), entry.GetServer(), arguments)
	return "ok"
}

// scripted is a model that looks for a tool, calls the first one it is given, and is done.
func scripted() model {
	turn := 0
	return func(tools []json.RawMessage, result string) call {
		turn++
		switch {
		case turn == 1:
			return call{name: "find_tools", arguments: map[string]string{"task": result}}
		case turn == 2 && len(tools) > 1:
			var first struct{ Name string }
			_ = json.Unmarshal(tools[1], &first) // the agent made it
			return call{name: first.Name, arguments: map[string]string{"title": "the build is broken"}}
		}
		return call{text: result}
	}
}

func run(ctx context.Context, target string, out io.Writer) error {
	client, err := toolsearch.New(target)
	if err != nil {
		return err
	}
	defer client.Close()
	a := &agent{client: client, model: scripted(), out: out, loaded: map[string]*toolsearchv1.Entry{}}
	return a.run(ctx, "open a bug report")
}

func main() {
	target := "localhost:50051"
	if len(os.Args) > 1 {
		target = os.Args[1]
	}
	if err := run(context.Background(), target, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
