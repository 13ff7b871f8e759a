"""toolsearch-server: flags and environment → Config → serve."""

import asyncio
import sys

import structlog

from toolsearch_server import config, server, telemetry
from toolsearch_server.store import StoreOpenError


def main() -> None:
    settings = config.from_process()
    telemetry.configure_logging(level=settings.log_level, format=settings.log_format)
    try:
        _run(settings)
    except (StoreOpenError, server.StartError) as error:
        structlog.get_logger().error("cannot start", error=str(error))
        sys.exit(1)


def _run(settings: config.Config) -> None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        asyncio.run(server.serve(settings))
    else:
        uvloop.run(server.serve(settings))


if __name__ == "__main__":
    main()
