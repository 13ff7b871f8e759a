package toolsearch_test

import (
	"strings"
	"testing"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

func TestToolsAreReadFromWhateverTheyComeIn(t *testing.T) {
	for how, data := range map[string]string{
		"an answer to tools/list": `{"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "x"}`,
		"with its JSON-RPC":       `{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}]}}`,
		"an array":                `[{"name": "a"}, {"name": "b"}]`,
		"one a line":              "{\"name\": \"a\"}\n\n{\"name\": \"b\"}\n",
		"pages of answers":        "{\"tools\": [{\"name\": \"a\"}]}\n{\"tools\": [{\"name\": \"b\"}]}\n",
		"with a byte order mark":  "\ufeff[{\"name\": \"a\"}, {\"name\": \"b\"}]",
	} {
		entries, err := toolsearch.EntriesFromMCP([]byte(data))
		if err != nil || len(entries) != 2 || entries[0].GetDefinition() != `{"name":"a"}` || entries[1].GetDefinition() != `{"name":"b"}` {
			t.Errorf("%s: %v, %v", how, entries, err)
		}
	}
	if entries, err := toolsearch.EntriesFromMCP([]byte(`{"tools": []}`)); err != nil || len(entries) != 0 {
		t.Errorf("no tools: %v, %v", entries, err)
	}
	if entries, err := toolsearch.EntriesFromMCP([]byte(`{"name": "a", "tools": [1]}`)); err != nil || len(entries) != 1 {
		t.Errorf("a tool with tools in it: %v, %v", entries, err)
	}
}

func TestADefinitionKeepsItsOrderAndItsNumbers(t *testing.T) {
	given := `{"z": 12345678901234567890.10, "name": "a", "x": "<&>\u00e9é", "a": {"c": 1, "b": []}}`
	entries, err := toolsearch.EntriesFromMCP([]byte(given))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := entries[0].GetDefinition(), strings.NewReplacer(": ", ":", ", ", ",").Replace(given); got != want {
		t.Errorf("%s", got)
	}
}

func TestWhatAreNoToolsIsRefusedAndTheErrorSaysWhere(t *testing.T) {
	for data, where := range map[string]string{
		"":                                "empty",
		" \n":                             "empty",
		"{\"name\": \"a\"}\nnonsense\n":   "line 2",
		`[{"name": "a"}, {"title": "b"}]`: "tool 2",
		`[{"name": "a"}, 7]`:              "tool 2",
		`[{"name": 7}]`:                   "tool 1",
		`[{"name": ""}]`:                  "tool 1",
		"null":                            "tool 1",
		"[{\"name\": \"\xff\"}]":          "UTF-8",
	} {
		if entries, err := toolsearch.EntriesFromMCP([]byte(data)); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%q: %v, %v", data, entries, err)
		}
	}
}

func TestAModelGetsTheDefinitionUnderTheAlias(t *testing.T) {
	entry := &toolsearchv1.Entry{
		Name: "github.open_issue", Alias: "github_open_issue", Definition: `{"name":"open_issue","inputSchema":{"z":1.0,"a":2}}`,
	}
	tool, err := toolsearch.ToolForModel(entry)
	if err != nil || string(tool) != `{"inputSchema":{"z":1.0,"a":2},"name":"github_open_issue"}` {
		t.Errorf("%s, %v", tool, err)
	}
	for _, definition := range []string{"", "null", "7"} {
		if tool, err := toolsearch.ToolForModel(&toolsearchv1.Entry{Name: "x", Definition: definition}); err == nil {
			t.Errorf("%q: %s", definition, tool)
		}
	}
}
