"""The same client with async and await: search while watching for changes.

python quickstart_async.py [HOST:PORT]
"""

import asyncio
import sys

from toolsearch import AsyncClient, NotFound, WatchKind


async def main(target: str) -> None:
    async with AsyncClient(target, catalog="quickstart-async") as client:
        try:
            await client.search("anything")
        except NotFound as error:
            print(f"{error.reason}: {error}")

        await client.sync_server("weather", [{"name": "get_forecast", "description": "Weather of the next days in a city."}])
        result = await client.search(["will it rain tomorrow", "weather forecast"])
        print([match.name for match in result.matches])

        events = client.watch()
        print((await anext(events)).kind)
        await client.sync_server("weather", [{"name": "get_alerts", "description": "Storm and flood warnings for a city."}])
        event = await anext(events)
        assert event.kind is WatchKind.CHANGED
        print(f"new: {event.upserted}, gone: {event.deleted}")
        await client.delete_catalog()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:50051"))
