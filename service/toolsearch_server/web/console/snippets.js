/**
 * The same search in Python, Go, TypeScript, curl and the command line: programs that run as they are, whatever the query says.
 * Characters beyond plain ones are written as escapes, so that nothing unseen hides in what is pasted. Keys are never in them.
 */

import { goText, pythonText, shellText, typescriptText, curlBody } from "./literals.js";

/**
 * @typedef {object} Search
 * @property {string} target HOST:PORT of gRPC
 * @property {string} origin of the HTTP port
 * @property {boolean} tls
 * @property {boolean} credentials whether a key is needed; it is taken from $TOOLSEARCH_API_KEY
 * @property {string} catalog
 * @property {string} tenant empty: the credential's
 * @property {string} query
 * @property {string} strategy
 * @property {number} limit
 * @property {number} minRelevance
 * @property {import("./messages.js").Filter} filter
 */

export const LANGUAGES = /** @type {const} */ (["Python", "TypeScript", "Go", "curl", "CLI"]);

/** @param {typeof LANGUAGES[number]} language @param {Search} search @returns {string} */
export function snippet(language, search) {
  return { Python: python, TypeScript: typescript, Go: go, curl, CLI: commandLine }[language](search);
}

/** @param {import("./messages.js").Filter} filter */
const kindWords = (filter) => filter.kinds?.map((kind) => kind.replace("ENTRY_KIND_", "").toLowerCase());

/** @param {Search} search */
function python(search) {
  const { filter } = search;
  const text = pythonText;
  const list = (/** @type {readonly string[]} */ values) => `[${values.map(text).join(", ")}]`;
  const filters = [
    filter.servers && `servers=${list(filter.servers)}`,
    filter.namespaces && `namespaces=${list(filter.namespaces)}`,
    filter.tags && `tags=${list(filter.tags)}`,
    filter.kinds && `kinds=${list(kindWords(filter) ?? [])}`,
    filter.readOnly && "read_only=True",
    filter.destructive === false && "destructive=False",
  ].filter(Boolean);
  const options = [
    text(search.target),
    `catalog=${text(search.catalog)}`,
    search.tenant && `tenant=${text(search.tenant)}`,
    search.credentials && 'api_key=os.environ["TOOLSEARCH_API_KEY"]',
    search.tls && "tls=True",
  ].filter(Boolean);
  const names = filters.length > 0 ? "Client, Filter" : "Client";
  return `${search.credentials ? "import os\n\n" : ""}from toolsearch import ${names}

with Client(${options.join(", ")}) as client:
    result = client.search(
        ${text(search.query)},
        strategy=${text(search.strategy)},
        limit=${search.limit},
${filters.length > 0 ? `        filter=Filter(${filters.join(", ")}),\n` : ""}${
    search.minRelevance > 0 ? `        min_relevance=${search.minRelevance},\n` : ""
  }    )
    for match in result.matches:
        print(f"{match.relevance:.2f}  {match.name}  {match.reason}")
`;
}

/** @param {Search} search */
function typescript(search) {
  const { filter } = search;
  const text = typescriptText;
  const list = (/** @type {readonly string[]} */ values) => `[${values.map(text).join(", ")}]`;
  const filters = [
    filter.servers && `servers: ${list(filter.servers)}`,
    filter.namespaces && `namespaces: ${list(filter.namespaces)}`,
    filter.tags && `tags: ${list(filter.tags)}`,
    filter.kinds && `kinds: ${list(kindWords(filter) ?? [])}`,
    filter.readOnly && "readOnly: true",
    filter.destructive === false && "destructive: false",
  ].filter(Boolean);
  const options = [
    `catalog: ${text(search.catalog)}`,
    search.tenant && `tenant: ${text(search.tenant)}`,
    search.credentials && "apiKey: process.env.TOOLSEARCH_API_KEY",
    search.tls && "tls: true",
  ].filter(Boolean);
  return `import { Client } from "toolsearch";

const client = new Client(${text(search.target)}, { ${options.join(", ")} });
const { matches } = await client.search(${text(search.query)}, {
  strategy: ${text(search.strategy)},
  limit: ${search.limit},
${filters.length > 0 ? `  filter: { ${filters.join(", ")} },\n` : ""}${
    search.minRelevance > 0 ? `  minRelevance: ${search.minRelevance},\n` : ""
  }});
for (const match of matches) {
  console.log(match.relevance.toFixed(2), match.name, match.reason);
}
client.close();
`;
}

/** @param {Search} search */
function go(search) {
  const { filter } = search;
  const text = goText;
  const list = (/** @type {readonly string[]} */ values) => `[]string{${values.map(text).join(", ")}}`;
  const kinds = filter.kinds?.map((kind) => `toolsearchv1.EntryKind_${kind}`);
  const pointers = filter.readOnly === true || filter.destructive === false;
  const filters = [
    filter.servers && `Servers: ${list(filter.servers)}`,
    filter.namespaces && `Namespaces: ${list(filter.namespaces)}`,
    filter.tags && `Tags: ${list(filter.tags)}`,
    kinds && `Kinds: []toolsearchv1.EntryKind{${kinds.join(", ")}}`,
    filter.readOnly && "ReadOnly: proto.Bool(true)",
    filter.destructive === false && "Destructive: proto.Bool(false)",
  ].filter(Boolean);
  const options = [
    text(search.target),
    `toolsearch.WithCatalog(${text(search.catalog)})`,
    search.tenant && `toolsearch.WithTenant(${text(search.tenant)})`,
    search.credentials && 'toolsearch.WithAPIKey(os.Getenv("TOOLSEARCH_API_KEY"))',
    search.tls && "toolsearch.WithTLS(nil)",
  ].filter(Boolean);
  const fields = [
    ["Queries", `[]string{${text(search.query)}}`],
    ["Strategy", `toolsearchv1.Strategy_STRATEGY_${search.strategy.toUpperCase()}`],
    ["Limit", String(search.limit)],
    ...(filters.length > 0 ? [["Filter", `&toolsearchv1.Filter{${filters.join(", ")}}`]] : []),
    ...(search.minRelevance > 0 ? [["MinRelevance", String(search.minRelevance)]] : []),
  ];
  const width = Math.max(...fields.map(([name = ""]) => name.length));
  return `package main

import (
	"context"
	"fmt"
	"log"
${search.credentials ? '	"os"\n' : ""}
	"github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
${pointers ? '	"google.golang.org/protobuf/proto"\n' : ""})

func main() {
	client, err := toolsearch.New(${options.join(", ")})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	found, err := client.SearchTools(context.Background(), &toolsearchv1.SearchToolsRequest{
${fields.map(([name = "", value]) => `		${`${name}:`.padEnd(width + 1)} ${value},\n`).join("")}	})
	if err != nil {
		log.Fatal(err)
	}
	for _, match := range found.GetMatches() {
		fmt.Printf("%.2f  %s  %s\\n", match.GetRelevance(), match.GetEntry().GetName(), match.GetReason())
	}
}
`;
}

/** @param {Search} search */
function curl(search) {
  const body = {
    catalog: search.catalog,
    queries: [search.query],
    strategy: `STRATEGY_${search.strategy.toUpperCase()}`,
    limit: search.limit,
    ...(Object.keys(search.filter).length > 0 && { filter: search.filter }),
    ...(search.minRelevance > 0 && { minRelevance: search.minRelevance }),
  };
  const lines = [
    `curl --fail-with-body ${shellText(`${search.origin}/v1/SearchTools`)}`,
    search.credentials && '--header "authorization: Bearer $TOOLSEARCH_API_KEY"',
    search.tenant && `--header ${shellText(`x-toolsearch-tenant: ${search.tenant}`)}`,
    "--header 'content-type: application/json'",
    `--data-binary ${curlBody(body)}`,
  ].filter(Boolean);
  return `${lines.join(" \\\n  ")}\n`;
}

/** @param {Search} search */
function commandLine(search) {
  const { filter } = search;
  /** @type {[string, readonly string[] | undefined][]} */
  const lists = [
    ["server", filter.servers],
    ["namespace", filter.namespaces],
    ["tag", filter.tags],
    ["kind", kindWords(filter)],
  ];
  // Keys come from $TOOLSEARCH_API_KEY by themselves. The query stands behind "--", as it may begin with a dash.
  const words = [
    "toolsearch search",
    `--target=${shellText(search.target)}`,
    search.tls && "--tls",
    `--catalog=${shellText(search.catalog)}`,
    search.tenant && `--tenant=${shellText(search.tenant)}`,
    `--strategy=${search.strategy}`,
    `--limit=${search.limit}`,
    ...lists.flatMap(([name, values = []]) => values.map((value) => `--${name}=${shellText(value)}`)),
    filter.readOnly && "--read-only",
    filter.destructive === false && "--no-destructive",
    search.minRelevance > 0 && `--min-relevance=${search.minRelevance}`,
    `-- ${shellText(search.query)}`,
  ].filter(Boolean);
  return `${words.join(" ")}\n`;
}
