"""The HTTP port: the services as JSON, the console, probes and metrics. Only this package knows Starlette and uvicorn."""
