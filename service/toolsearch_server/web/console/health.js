/** Health: the last minutes of each replica that answers, from what the replicas themselves remember. */

import { status } from "./api.js";
import { lines } from "./charts.js";
import { disclosure, fill, foreign, h } from "./dom.js";
import { ago, bytes, count, counted, seconds } from "./format.js";
import { problem } from "./notices.js";
import { table } from "./table.js";

const KEPT = 15 * 60;
const GAP = 3;

/** @typedef {import("./messages.js").Status} Status */
/** @typedef {import("./messages.js").Sample} Sample */
/**
 * @typedef {object} Replica
 * @property {Status} status
 * @property {number} seen
 * @property {Map<string, Sample>} samples
 * @property {HTMLElement} element
 * @property {{ table: boolean }} details what is open
 */

/** @param {import("./app.js").View} view */
export function page(view) {
  const { signal } = view;
  /** A balancer may lead each question to another replica. @type {Map<string, Replica>} */
  const replicas = new Map();
  const failure = h("div", {});
  const list = h("div", { class: "page" });

  /** @param {Status} answer */
  const take = (answer) => {
    const known = replicas.get(answer.replica) ?? {
      status: answer,
      seen: 0,
      samples: new Map(),
      element: h("section", { class: "page", "aria-label": "Replica" }),
      details: { table: false },
    };
    known.status = answer;
    known.seen = Date.now();
    answer.samples.forEach((sample) => known.samples.set(sample.at, sample));
    for (const [at] of [...known.samples].slice(0, Math.max(0, known.samples.size - KEPT / answer.sampleSeconds))) {
      known.samples.delete(at);
    }
    replicas.set(answer.replica, known);
    for (const [name, { seen }] of replicas) {
      if (Date.now() - seen > KEPT * 1000) {
        replicas.delete(name);
      }
    }
    for (const replica of replicas.values()) {
      // Whoever reads a table or a picture just now is not disturbed.
      if (!replica.element.contains(document.activeElement) && replica.element.querySelector("figure:hover") === null) {
        draw(replica);
      }
    }
    const shown = [...replicas.values()]
      .sort((left, right) => (left.status.replica < right.status.replica ? -1 : 1))
      .map(({ element }) => element);
    if (shown.length !== list.children.length || shown.some((element, index) => element !== list.children[index])) {
      list.replaceChildren(...shown);
    }
  };
  const poll = async () => {
    let pause = view.status.sampleSeconds;
    while (!signal.aborted) {
      try {
        const answer = await status(signal);
        pause = answer.sampleSeconds;
        fill(failure);
        take(answer);
      } catch (error) {
        if (!signal.aborted) {
          fill(failure, problem(error), h("p", { class: "faint" }, `Asked again every ${seconds(pause)}.`));
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
  };
  take(view.status);
  void poll();
  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Health"),
    h(
      "p",
      { class: "faint" },
      "What the replicas remember of the last 15 minutes. Behind a balancer, a replica appears once it has answered this page.",
    ),
    failure,
    list,
  );
}

/** @param {Replica} replica */
function draw({
  status: { replica, version, startedAt, ready, store, embeddings, sampleSeconds },
  seen,
  samples,
  element,
  details,
}) {
  const known = [...samples.values()].sort((left, right) => (left.at < right.at ? -1 : 1));
  const last = known.at(-1);
  const silent = Date.now() - seen > GAP * sampleSeconds * 1000;
  /** @type {[string, import("./dom.js").Children][]} */
  const tiles = [
    ["State", silent ? `not heard of for ${seconds((Date.now() - seen) / 1000)}` : ready ? "ready" : "not ready"],
    ["Started", h("time", { datetime: startedAt, title: startedAt }, ago(startedAt))],
    ["Version", foreign(version)],
    ["Store", foreign(store)],
    ["Meaning", embeddings ? foreign(embeddings) : "off"],
    ...(last
      ? /** @type {[string, string][]} */ ([
          ["Catalogs here", `${count(last.catalogs)}, ${bytes(last.indexBytes)}`],
          ["Revision lag", last.maxRevisionLag > 0 ? counted(last.maxRevisionLag, "revision") : "none"],
          [
            "Stale",
            last.staleCatalogs > 0 ? `${counted(last.staleCatalogs, "catalog")}, ${seconds(last.stalestSeconds)}` : "none",
          ],
        ])
      : []),
  ];
  const content =
    known.length < 2
      ? h(
          "p",
          { class: "notice" },
          `This replica has only just started to collect: a figure every ${seconds(sampleSeconds)}, a picture from two on.`,
        )
      : [
          known.length * sampleSeconds < 60 &&
            h("p", { class: "faint" }, `Collecting for ${seconds(known.length * sampleSeconds)} only.`),
          h("div", { class: "cards" }, charts(known, sampleSeconds)),
          figures(known, sampleSeconds, details),
        ];
  fill(
    element,
    h("h2", {}, "Replica ", foreign(replica)),
    h(
      "dl",
      { class: "tiles" },
      tiles.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
    content,
  );
}

/** @param {number} value */
const perSecond = (value) =>
  value === 0 ? "0/s" : value < 10 ? `${Number(value.toPrecision(2))}/s` : `${count(Math.round(value))}/s`;
/** @param {number} value */
const milliseconds = (value) => (value === 0 ? "0" : seconds(value / 1000));
/** @param {number} value */
const share = (value) => `${Math.round(value * 100)}%`;

/** @param {readonly Sample[]} samples @param {number} every seconds */
function charts(samples, every) {
  const times = samples.map(({ at }) => Date.parse(at) / 1000);
  /** @param {(sample: Sample) => number | null} value */
  const of = (value) => samples.map(value);
  const codes = [...new Set(samples.flatMap(({ errors }) => Object.keys(errors)))].sort();
  const failing =
    codes.length > 0
      ? codes.map((code, index) => ({
          name: code,
          colour: (index % 8) + 1,
          values: of(({ errors }) => (errors[code] ?? 0) / every),
        }))
      : [{ name: "none", colour: 8, values: of(() => 0) }];
  return [
    lines("Requests", times, [{ name: "calls", colour: 1, values: of(({ calls }) => calls / every) }], perSecond, 1),
    lines(
      "Latency",
      times,
      [
        { name: "p50", colour: 2, values: of(({ p50Ms }) => p50Ms) },
        { name: "p90", colour: 1, values: of(({ p90Ms }) => p90Ms) },
        { name: "p99", colour: 3, values: of(({ p99Ms }) => p99Ms) },
      ],
      milliseconds,
      1,
    ),
    lines("Refused and failed", times, failing, perSecond, 0.2),
    lines(
      "Revision lag",
      times,
      [
        { name: "revisions", colour: 5, values: of(({ maxRevisionLag }) => maxRevisionLag) },
        { name: "stale catalogs", colour: 4, values: of(({ staleCatalogs }) => staleCatalogs) },
      ],
      count,
      1,
    ),
    lines(
      "Under way",
      times,
      [
        { name: "calls", colour: 1, values: of(({ callsUnderWay }) => callsUnderWay) },
        { name: "watches", colour: 6, values: of(({ watches }) => watches) },
      ],
      (value) => count(Number(value.toFixed(1))),
      1,
    ),
    lines(
      "Processor",
      times,
      [{ name: "of one core", colour: 7, values: of(({ cpuSeconds }) => cpuSeconds / every) }],
      share,
      0.1,
    ),
    lines(
      "Memory",
      times,
      [
        { name: "resident", colour: 1, values: of(({ residentBytes }) => residentBytes) },
        { name: "indexes", colour: 2, values: of(({ indexBytes }) => indexBytes) },
      ],
      bytes,
      1e6,
    ),
  ];
}

/** The same as a table. @param {readonly Sample[]} samples @param {number} every @param {{ table: boolean }} details */
function figures(samples, every, details) {
  const opened = disclosure(
    "The figures as a table",
    () =>
      table({
        label: "Figures",
        rows: [...samples].reverse(),
        columns: [
          { title: "Time", value: ({ at }) => at, cell: ({ at }) => new Date(at).toLocaleTimeString() },
          { title: "Calls/s", value: ({ calls }) => Number((calls / every).toPrecision(3)) },
          { title: "p50 ms", value: ({ p50Ms }) => p50Ms ?? 0, cell: ({ p50Ms }) => p50Ms?.toFixed(1) ?? "–" },
          { title: "p90 ms", value: ({ p90Ms }) => p90Ms ?? 0, cell: ({ p90Ms }) => p90Ms?.toFixed(1) ?? "–" },
          { title: "p99 ms", value: ({ p99Ms }) => p99Ms ?? 0, cell: ({ p99Ms }) => p99Ms?.toFixed(1) ?? "–" },
          { title: "Failed", value: ({ errors }) => Object.values(errors).reduce((sum, each) => sum + each, 0) },
          { title: "Lag", value: ({ maxRevisionLag }) => maxRevisionLag },
          { title: "Stale", value: ({ staleCatalogs }) => staleCatalogs },
          { title: "Under way", value: ({ callsUnderWay }) => callsUnderWay },
          { title: "Watches", value: ({ watches }) => watches },
          { title: "CPU", value: ({ cpuSeconds }) => cpuSeconds / every, cell: ({ cpuSeconds }) => share(cpuSeconds / every) },
          { title: "Memory", value: ({ residentBytes }) => residentBytes, cell: ({ residentBytes }) => bytes(residentBytes) },
        ],
      }).element,
    { class: "panel", open: details.table },
  );
  opened.addEventListener("toggle", () => {
    details.table = opened.open;
  });
  return opened;
}
