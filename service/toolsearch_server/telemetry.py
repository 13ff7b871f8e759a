"""What operators see: logs as JSON lines, or readable on a terminal."""

import logging
import sys

import structlog


def configure_logging(*, level: str, format: str) -> None:  # noqa: A002 the flag's name
    renderer: structlog.types.Processor
    if format == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        errors: list[structlog.types.Processor] = []
    else:
        renderer = structlog.processors.JSONRenderer()
        # Without local variables: they are other people's catalogs.
        transform = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        errors = [structlog.processors.ExceptionRenderer(transform)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *errors,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
