/** Signing in. The key goes from the input to memory; the input is emptied at once. */

import { mayBeKey } from "./api.js";
import { fill, foreign, h } from "./dom.js";

/** @param {import("./api.js").Refusal | undefined} refusal @param {(key: string) => void} submit */
export function signInForm(refusal, submit) {
  const input = h("input", {
    id: "key",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    placeholder: "ts_…",
    "aria-describedby": "key-help key-refused",
  });
  const refused = h("p", { id: "key-refused", class: "refused", role: "alert" });
  if (refusal) {
    fill(refused, reason(refusal), " ", h("span", { class: "faint" }, foreign(refusal.message)));
  }
  const form = h(
    "form",
    { class: "sign-in" },
    h("h1", {}, "Sign in"),
    h("label", { for: "key" }, "API key"),
    input,
    refused,
    !isSecureContext &&
      h("p", { class: "notice" }, "This connection is not encrypted: whoever is on the way can read the key."),
    h("button", { type: "submit", class: "primary" }, "Sign in"),
    h(
      "p",
      { id: "key-help", class: "faint" },
      "The key stays in this page's memory: it is gone when the page is closed or loaded again. Made with ",
      h("code", {}, "toolsearch-server keys create"),
      ".",
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const key = input.value;
    input.value = "";
    if (mayBeKey(key)) {
      submit(key);
    } else {
      fill(refused, "This is no key: keys have letters, digits and signs, and no spaces.");
    }
  });
  return form;
}

/** @param {import("./api.js").Refusal} refusal */
function reason({ reason }) {
  return reason === "CREDENTIAL_INVALID" ? "This key is not known, or not any more." : "The key was refused.";
}
