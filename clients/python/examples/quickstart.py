"""Put a server's tools into a catalog, and find the right one.

python quickstart.py [HOST:PORT]
"""

import sys

from toolsearch import Client, Filter

TOOLS = [
    {
        "name": "create_issue",
        "description": "Open a bug report or feature request in a repository.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "repo": {"type": "string", "description": "owner/name"},
                "title": {"type": "string"},
                "assignee": {"type": "string", "description": "Who should fix it"},
            },
            "required": ["repo", "title"],
        },
        "annotations": {"destructiveHint": False},
    },
    {
        "name": "delete_branch",
        "description": "Remove a branch from a repository.",
        "inputSchema": {"type": "object", "properties": {"branch": {"type": "string"}}},
    },
]


def main(target: str) -> None:
    with Client(target, catalog="quickstart") as client:
        written = client.sync_server("github", TOOLS)
        print(f"revision {written.version.revision}: {len(written.added)} added, {written.unchanged} unchanged")

        result = client.search("tell the team that something is broken: open a bug report", limit=3)
        for match in result.matches:
            print(f"{match.relevance:.2f}  {match.alias}  {match.reason}")

        # What a model is given: the definition, under the alias that its provider accepts.
        best = client.get_tools([result.matches[0].name]).entries[0]
        assert best.definition is not None
        print(best.definition | {"name": best.alias})

        # Nothing destructive without asking.
        safe = client.search("remove a branch", filter=Filter(destructive=False))
        print([match.name for match in safe.matches])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:50051")
