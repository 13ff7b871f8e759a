"""toolsearch-server: tool search for AI agents as a service. ARCHITECTURE.md is the way in."""
