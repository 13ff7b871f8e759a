/** Plans: what is eager, what is deferred, what that costs, and what is sent to the provider. */

import { call, Refusal } from "./api.js";
import { bars } from "./charts.js";
import { ConfigProblem, parseBlock, toMessage } from "./config.js";
import { configForm } from "./config_form.js";
import { copyButton, disclosure, fill, foreign, h, visible } from "./dom.js";
import { bytes, count, counted, enumWord, percent } from "./format.js";
import { howToLoad } from "./how_to_load.js";
import { indented } from "./json_text.js";
import { notice, problem, waiting } from "./notices.js";
import { table } from "./table.js";

const PAUSE = 250;
const PIECE = 100_000;
const MODELS = new Map([
  ["anthropic", ["claude-sonnet-5"]],
  ["openai", ["gpt-5.4", "gpt-5.4-nano"]],
  ["openai-chat", ["gpt-5.4"]],
]);

/** @typedef {import("./messages.js").PlanToolsResponse} Plan */
/** @typedef {import("./messages.js").PlannedTool} PlannedTool */

/** @param {import("./app.js").View} view */
export function page(view) {
  if (view.catalogs.length === 0) {
    return h("div", { class: "page" }, h("h1", {}, "Plan"), howToLoad());
  }
  const { params, signal } = view;
  const models = h("datalist", { id: "models" });
  const provider = h("input", {
    list: "providers",
    value: params.get("provider") ?? "anthropic",
    autocomplete: "off",
    spellcheck: "false",
  });
  const model = h("input", {
    list: "models",
    value: params.get("model") ?? "claude-sonnet-5",
    autocomplete: "off",
    spellcheck: "false",
  });
  const purpose = h("textarea", { rows: 2, value: params.get("purpose") ?? "", placeholder: "what the conversation is about" });
  const answer = h("div", { class: "page", "aria-live": "off" }, waiting("Planning…"));
  let block = startBlock(params.get("config") ?? "");
  const form = configForm(block, (changed) => {
    block = changed;
    later();
  });

  let asking = new AbortController();
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void ask(), PAUSE);
  };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    asking.abort();
  });
  const suggest = () =>
    fill(
      models,
      (MODELS.get(provider.value) ?? []).map((value) => h("option", { value })),
    );

  const ask = async () => {
    asking.abort();
    asking = new AbortController();
    const own = asking.signal;
    view.remember(
      new URLSearchParams(
        /** @type {[string, string][]} */ ([
          ["provider", provider.value],
          ["model", model.value],
          ["purpose", purpose.value],
          ["config", Object.keys(block).length > 0 ? JSON.stringify(block) : ""],
        ]).filter(([, value]) => value !== ""),
      ),
    );
    answer.setAttribute("aria-busy", "true");
    form.content();
    try {
      const request = {
        catalog: view.catalog,
        provider: provider.value,
        model: model.value,
        purpose: purpose.value,
        config: toMessage(block),
      };
      /** @type {Plan} */
      const plan = await call("PlanTools", { ...request, withoutPayload: true }, own);
      if (own.aborted) {
        return;
      }
      fill(
        answer,
        content(plan, view, async () => /** @type {Plan} */ (await call("PlanTools", request, own)).payload),
      );
      view.announce(`${counted(plan.report.eagerCount, "eager tool")}, ${counted(plan.report.deferredCount, "deferred tool")}`);
    } catch (error) {
      if (own.aborted) {
        return;
      }
      const known =
        error instanceof ConfigProblem
          ? form.complain(error.key, error.message)
          : error instanceof Refusal && form.complain(/^config\.(\w+)/.exec(error.field)?.[1] ?? "", error.message);
      fill(
        answer,
        known ? notice("The configuration is refused: what is wrong stands at the field.") : problem(error, () => void ask()),
      );
    }
    answer.removeAttribute("aria-busy");
  };
  for (const input of [provider, model, purpose]) {
    input.addEventListener("input", later);
  }
  provider.addEventListener("input", suggest);
  suggest();
  void ask();

  return h(
    "div",
    { class: "page" },
    h("h1", {}, "Plan"),
    h(
      "div",
      { class: "planning" },
      h(
        "form",
        {
          class: "card form settings",
          "aria-label": "Configuration",
          on: { submit: (/** @type {Event} */ event) => event.preventDefault() },
        },
        h(
          "datalist",
          { id: "providers" },
          [...MODELS.keys()].map((value) => h("option", { value })),
        ),
        models,
        h("label", { class: "field" }, h("span", { class: "label" }, "Provider"), provider),
        h("label", { class: "field" }, h("span", { class: "label" }, "Model"), model),
        h("label", { class: "field whole" }, h("span", { class: "label" }, "Purpose"), purpose),
        form.element,
      ),
      answer,
    ),
  );
}

/** @param {string} text from the address */
function startBlock(text) {
  try {
    return parseBlock(text);
  } catch {
    return {};
  }
}

/** @param {Plan} plan @param {import("./app.js").View} view @param {() => Promise<string>} payload */
function content(plan, view, payload) {
  const { report } = plan;
  const before = Number(report.tokensBefore);
  const after = Number(report.tokensAfter);
  const eager = plan.tools.filter((tool) => tool.eager);
  const deferred = plan.tools.filter((tool) => !tool.eager);
  return [
    report.warnings.map((warning) => notice(foreign(warning))),
    report.unmatchedPatterns.length > 0 &&
      notice(
        "No tool fits ",
        report.unmatchedPatterns.map((pattern, index) => [index > 0 && ", ", h("code", {}, foreign(pattern))]),
        ".",
      ),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Tokens in the model's context"),
      bars([
        { label: "before: all definitions", value: before, text: count(before), tone: "heavy" },
        { label: "after: with this plan", value: after, text: count(after), tone: "light" },
      ]),
      h(
        "p",
        { class: "faint" },
        saving(before, after),
        ` The window is taken to be ${count(report.contextWindow)} tokens: `,
        `${percent(before, Number(report.contextWindow))} of it before, ${percent(after, Number(report.contextWindow))} after.`,
      ),
      h(
        "p",
        { class: "faint" },
        plan.searchTool
          ? [
              "Search tool ",
              h("code", {}, foreign(plan.searchTool)),
              `, carried out by the ${enumWord(plan.execution, "SEARCH_EXECUTION")}.`,
            ]
          : "No search tool: none is needed.",
      ),
    ),
    toolList("Eager", eager, view, [{ title: "Why", value: ({ reason }) => reason, cell: ({ reason }) => foreign(reason) }]),
    toolList("Deferred", deferred, view, []),
    disclosure(h("span", {}, "Payload"), () => payloadView(payload), { class: "panel" }),
  ];
}

/** @param {number} before @param {number} after */
function saving(before, after) {
  return after < before ? `${percent(before - after, before)} less.` : "No less than before.";
}

/**
 * @param {string} title @param {readonly PlannedTool[]} tools @param {import("./app.js").View} view
 * @param {import("./table.js").TableColumn<PlannedTool>[]} more
 */
function toolList(title, tools, view, more) {
  const cost = tools.reduce((sum, { tokens }) => sum + tokens, 0);
  return h(
    "div",
    { class: "card" },
    h("h2", {}, `${title}: ${counted(tools.length, "tool")}, ${counted(cost, "token")}`),
    tools.length > 0 &&
      table({
        label: title,
        rows: tools,
        text: ({ name, server }) => `${name} ${server}`,
        columns: [
          {
            title: "Name",
            wide: true,
            value: ({ name }) => name,
            cell: ({ name }) =>
              h("button", { type: "button", class: "link", on: { click: () => view.open(name) } }, foreign(name)),
          },
          { title: "Server", value: ({ server }) => server, cell: ({ server }) => foreign(server) },
          { title: "Tokens", value: ({ tokens }) => tokens },
          ...more,
        ],
      }).element,
  );
}

/** What is sent, asked for when it is looked at, a piece at a time. @param {() => Promise<string>} payload */
function payloadView(payload) {
  const place = h("div", {}, waiting("Rendering…"));
  payload().then(
    (text) => {
      const shown = indented(text);
      const code = h("pre", { class: "code", tabindex: 0, "aria-label": "Payload" });
      const more = h("button", { type: "button" });
      let end = 0;
      const show = () => {
        code.append(h("bdi", {}, visible(shown.slice(end, end + PIECE))));
        end += PIECE;
        more.hidden = end >= shown.length;
        more.textContent = `Show more (${bytes(shown.length - end)} left)`;
      };
      more.addEventListener("click", show);
      show();
      fill(
        place,
        copyButton(`Copy (${bytes(new Blob([text]).size)})`, () => text),
        code,
        more,
      );
    },
    (error) => fill(place, problem(error)),
  );
  return place;
}
