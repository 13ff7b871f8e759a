"""`toolsearch mcp`: an MCP server in front of many. Its clients carry a few tools that find, describe and call all others."""
