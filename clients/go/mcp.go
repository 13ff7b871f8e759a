package toolsearch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// EntriesFromMCP reads MCP tools, for SyncServer or ApplyChanges: from the answer to tools/list (with or without its JSON-RPC
// envelope), a JSON array of tools, or one tool a line. Definitions keep everything that they say, in the order in which they
// say it.
func EntriesFromMCP(data []byte) ([]*toolsearchv1.EntryInput, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, errors.New("toolsearch: the tools are not UTF-8 text")
	}
	values, err := jsonValues(data)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("toolsearch: empty; no tools at all is spelled []")
	}
	var tools []json.RawMessage
	for _, value := range values {
		tools = append(tools, unwrapped(value)...)
	}
	entries := make([]*toolsearchv1.EntryInput, 0, len(tools))
	for index, tool := range tools {
		definition, err := toolDefinition(tool)
		if err != nil {
			return nil, fmt.Errorf("toolsearch: tool %d: %w", index+1, err)
		}
		entries = append(entries, &toolsearchv1.EntryInput{Definition: definition})
	}
	return entries, nil
}

// ToolForModel is an entry's definition, read with DETAIL_FULL, under the name that model providers accept: its alias. When the
// model calls the tool by it, the entry's server and local_name say what to call.
func ToolForModel(entry *toolsearchv1.Entry) (json.RawMessage, error) {
	if entry.GetDefinition() == "" {
		return nil, fmt.Errorf("toolsearch: %s has no definition: ask for it with DETAIL_FULL", entry.GetName())
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(entry.GetDefinition()), &members); err != nil || members == nil {
		return nil, fmt.Errorf("toolsearch: the definition of %s is not a JSON object", entry.GetName())
	}
	name, err := json.Marshal(entry.GetAlias())
	if err != nil {
		return nil, err
	}
	members["name"] = name
	return json.Marshal(members)
}

func jsonValues(data []byte) ([]json.RawMessage, error) {
	var values []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			rest := bytes.TrimLeft(data[decoder.InputOffset():], " \t\r\n")
			line := 1 + bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
			return nil, fmt.Errorf("toolsearch: what begins in line %d is not JSON: %w", line, err)
		}
		values = append(values, value)
	}
}

// unwrapped are the tools in a value that may be an answer to tools/list, an array, or itself a tool.
func unwrapped(value json.RawMessage) []json.RawMessage {
	var tools []json.RawMessage
	if json.Unmarshal(value, &tools) == nil && tools != nil {
		return tools
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members["name"] != nil {
		return []json.RawMessage{value}
	}
	for _, member := range []string{"tools", "result"} {
		if inner := members[member]; inner != nil {
			return unwrapped(inner)
		}
	}
	return []json.RawMessage{value}
}

func toolDefinition(value json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return "", errors.New("expected a JSON object")
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || name == "" {
		return "", errors.New("expected a JSON object with a name")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return "", err
	}
	return compact.String(), nil
}
