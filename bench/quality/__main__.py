"""python -m quality: retrieval quality of the service, next to the searchers people use today."""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quality.measures import Measures, measure, paired_difference
from quality.searchers import PEERS, STRATEGIES, Search, rated_toolsearch, toolsearch
from quality.sets import LabelledSet, read_sets
from support import DATA

RECORDED = Path(__file__).parents[1] / "results" / "quality.json"
DISTRACTORS = "toucan_catalog"

EPILOG = """\
examples:
  make quality                                     all strategies and peers on all sets
  python -m quality auto bm25 --peers none         two strategies
  python -m quality auto --reliability             whether relevance is what it says
  python -m quality auto --distractors             with 6,000 other tools mixed in
  python -m quality auto bm25 semantic --record    remember this run; later runs are compared with it
  python -m quality auto --embeddings onnx:FOLDER  with a transformer; make minilm gets one

A set is a folder in $TOOLSEARCH_DATA with tools.jsonl and queries.jsonl.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="quality", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strategies", nargs="*", default=["bm25", "semantic", "auto"], help=f"of {', '.join(STRATEGIES)}")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of labelled sets ({DATA})")
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="searchers to compare with, or none")
    parser.add_argument("--distractors", action="store_true", help=f"mix in the tools of {DISTRACTORS}")
    parser.add_argument("--typos", action="store_true", help="change one letter in a third of the words")
    parser.add_argument("--queries", type=int, default=0, help="at most so many queries a set, drawn at random")
    parser.add_argument("--embeddings", default="auto", help="as the server takes it: static, onnx:FOLDER, …")
    parser.add_argument("--reliability", action="store_true", help="compare relevance with how often it is right, instead")
    parser.add_argument("--record", action="store_true", help="remember this run for comparison")
    arguments = parser.parse_args()

    distractors = arguments.data / DISTRACTORS / "tools.jsonl" if arguments.distractors else None
    sets = read_sets(arguments.data, distractors, set(arguments.sets.split(",")) if arguments.sets else None)
    if not sets:
        sys.stderr.write(f"quality: no labelled sets in {arguments.data}; give --data or set TOOLSEARCH_DATA\n")
        return 1
    sets = [_prepared(labelled, arguments) for labelled in sets]
    if arguments.reliability:
        for strategy in arguments.strategies:
            _show_reliability(strategy, arguments.embeddings, sets)
        return 0
    variant = "".join(f"+{name}" for name in ("distractors", "typos") if getattr(arguments, name))
    if arguments.embeddings not in ("auto", "static"):
        variant += f"+{Path(arguments.embeddings).name}"
    recorded: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}

    print(f"{'':36}" + "".join(f"{name:>10}" for name in (*Measures.names(), "ms/query")))
    for peer in arguments.peers.split(",") if arguments.peers != "none" else ():
        try:
            _run(peer, PEERS[peer], sets, None)
        except ImportError as error:
            print(f"{peer}: left out, {error}")
    for strategy in arguments.strategies:
        with toolsearch(strategy, arguments.embeddings) as prepare:
            key = f"{strategy}{variant}"
            results = _run(f"toolsearch {strategy}", prepare, sets, recorded.get(key))
            if arguments.record:
                recorded[key] = results
    if arguments.record:
        RECORDED.parent.mkdir(exist_ok=True)
        RECORDED.write_text(json.dumps(recorded, separators=(",", ":"), sort_keys=True) + "\n")
        print(f"recorded in {RECORDED.name}")
    return 0


def _prepared(labelled: LabelledSet, arguments: argparse.Namespace) -> LabelledSet:
    draw = random.Random(13)
    queries = labelled.queries
    if arguments.queries and len(queries) > arguments.queries:
        queries = draw.sample(queries, arguments.queries)
    if arguments.typos:
        queries = [type(query)(query.id, _with_typos(query.text, draw), query.relevant) for query in queries]
    return LabelledSet(labelled.name, labelled.tools, queries)


def _with_typos(text: str, draw: random.Random) -> str:
    words = text.split()
    for number, word in enumerate(words):
        if len(word) > 3 and draw.random() < 1 / 3:
            place = draw.randrange(len(word))
            letter = draw.choice("abcdefghijklmnopqrstuvwxyz")
            words[number] = draw.choice(
                (
                    word[:place] + word[place + 1 :],
                    word[:place] + letter + word[place:],
                    word[:place] + letter + word[place + 1 :],
                )
            )
    return " ".join(words)


def _run(
    name: str, prepare: Callable[[LabelledSet], Search], sets: list[LabelledSet], recorded: dict[str, dict[str, float]] | None
) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    means: list[Measures] = []
    milliseconds: list[float] = []
    for labelled in sets:
        search = prepare(labelled)
        started = time.perf_counter()
        found = {query.id: search(query.text) for query in labelled.queries}
        milliseconds.append((time.perf_counter() - started) / len(labelled.queries) * 1000)
        measures = {query.id: measure(found[query.id], query.relevant) for query in labelled.queries}
        results[labelled.name] = {query: round(each.ndcg_10, 4) for query, each in measures.items()}
        means.append(Measures.mean(list(measures.values())))
        line = f"{name:20.20} {labelled.name:15.15}" + _row(means[-1], milliseconds[-1])
        print(line + _difference(results[labelled.name], (recorded or {}).get(labelled.name)), flush=True)
    print(f"{name:20.20} {'average':15}" + _row(Measures.mean(means), sum(milliseconds) / len(sets)), flush=True)
    return results


def _show_reliability(strategy: str, embeddings: str, sets: list[LabelledSet]) -> None:
    """Of matches with about the same relevance, the share that is relevant; every set counts the same. Then the mean relevance
    of the best match, for a set's own queries and for those of the next set, which belong to other tools."""
    weights: dict[int, list[tuple[float, float, float]]] = {}
    own: list[float] = []
    foreign: list[float] = []
    with rated_toolsearch(strategy, embeddings) as prepare:
        for number, labelled in enumerate(sets):
            search = prepare(labelled)
            for query in labelled.queries:
                rated = search(query.text)
                own.extend(relevance for _, relevance in rated[:1])
                for found, relevance in rated:
                    bin_ = min(9, int(10 * relevance))
                    weights.setdefault(bin_, []).append((1 / len(labelled.queries), relevance, float(found in query.relevant)))
            others = sets[(number + 1) % len(sets)]
            if len(sets) > 1 and {tool.id for tool in others.tools}.isdisjoint({tool.id for tool in labelled.tools}):
                foreign.extend(rated[0][1] for query in others.queries[:200] if (rated := search(query.text)))
    print(f"toolsearch {strategy}: relevance, share that is relevant, matches")
    for bin_, rows in sorted(weights.items()):
        total = sum(weight for weight, _, _ in rows)
        mean = sum(weight * relevance for weight, relevance, _ in rows) / total
        observed = sum(weight * right for weight, _, right in rows) / total
        print(f"  {bin_ / 10:.1f}-{(bin_ + 1) / 10:.1f} {mean:6.2f} {observed:6.2f} {len(rows):8}")
    for name, values in (("own queries", own), ("queries of other sets", foreign)):
        if values:
            print(f"  best match of {name}: {sum(values) / len(values):.2f}")


def _row(measures: Measures, milliseconds: float) -> str:
    values = (measures.hit_1, measures.hit_5, measures.recall_10, measures.ndcg_10, measures.mrr)
    return "".join(f"{value:>10.3f}" for value in values) + f"{milliseconds:>10.2f}"


def _difference(new: dict[str, float], old: dict[str, float] | None) -> str:
    difference = paired_difference(new, old) if old else None
    if difference is None:
        return ""
    mean, low, high = difference
    return f"   nDCG {mean:+.3f} [{low:+.3f}, {high:+.3f}] against the recorded run"


if __name__ == "__main__":
    sys.exit(main())
