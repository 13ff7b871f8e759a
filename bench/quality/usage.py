"""python -m quality.usage: what reported usage does to ranking.

Of each labelled set, the right answers to half of the queries are taken as uses; the other half is measured with and without.
The labels are even where real use is not, so this shows harm rather than benefit: `--skew` repeats uses of a few tools often.
"""

import argparse
import random
from collections import Counter
from pathlib import Path

from quality.measures import measure, paired_difference
from quality.sets import LabelledSet, read_sets
from support import DATA, draft, entries_of
from toolsearch_server.catalog import View
from toolsearch_server.embedders import Embedder
from toolsearch_server.embedders.static import static_embedder
from toolsearch_server.entry import EntryKey, Kind
from toolsearch_server.limits import DEFAULT_LIMITS
from toolsearch_server.query import Query
from toolsearch_server.usage import Usage

REPEATED = 100


def main() -> None:
    parser = argparse.ArgumentParser(prog="quality.usage", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--skew", action="store_true", help="as if every tenth of the tools in use were used 100 times as often"
    )
    arguments = parser.parse_args()
    embedder = static_embedder()
    print(f"{'':16}{'without':>9}{'with':>9}   nDCG@10, difference with its 95 % interval")
    for labelled in read_sets(arguments.data):
        print(_line(labelled, embedder, skewed=arguments.skew), flush=True)


def _line(labelled: LabelledSet, embedder: Embedder | None, *, skewed: bool) -> str:
    draw = random.Random(13)
    queries = draw.sample(labelled.queries, len(labelled.queries))
    learnt, asked = queries[::2], queries[1::2]
    uses = Counter(tool for query in learnt for tool in query.relevant)
    if skewed:
        for tool in draw.sample(sorted(uses), -(-len(uses) // 10)):
            uses[tool] *= REPEATED
    view = View.of(entries_of(draft(tool.definition, tool.server) for tool in labelled.tools), embedder)
    strengths = Usage({_key(tool): float(count) for tool, count in uses.items()}).strengths()
    usage = {view.slots[key]: strength for key, strength in strengths.items() if key in view.slots}
    without, used = ({query.id: _ndcg(view, query.text, query.relevant, each) for query in asked} for each in ({}, usage))
    difference = paired_difference(used, without)
    assert difference is not None, "both have the same queries"
    mean, low, high = difference
    scores = "".join(f"{sum(each.values()) / len(each):>9.3f}" for each in (without, used))
    return f"{labelled.name:16}{scores}   {mean:+.4f} [{low:+.4f}, {high:+.4f}]"


def _key(tool: str) -> EntryKey:
    server, _, name = tool.partition("::")
    return EntryKey(server, Kind.TOOL, name)


def _ndcg(view: View, text: str, relevant: frozenset[str], usage: dict[int, float]) -> float:
    found = view.search(Query(texts=(text,), limit=10, usage=usage), DEFAULT_LIMITS)
    names = [view.entry(match.slot) for match in found.matches]
    return measure([f"{entry.server}::{entry.local_name}" for entry in names], relevant).ndcg_10


if __name__ == "__main__":
    main()
