// Asks which devices a selector matches while it is typed; without it, the page works, but for that.
"use strict";
const form = document.querySelector("form.key"), selector = document.getElementById("selector");
const said = document.getElementById("said"), names = [...document.querySelectorAll("#names button")];
const cells = [...document.querySelectorAll("[data-i]")].map((cell) => ({ cell, title: cell.title }));
let asked = 0, timer;

async function ask() {
  try {
    const body = new URLSearchParams({ selector: selector.value, read: form.elements.read.value });
    const answer = await fetch("match", { method: "POST", body });
    return answer.ok ? await answer.json() : { error: `draguard ui refuses this: ${answer.status} ${answer.statusText}` };
  } catch {
    return { error: "draguard ui does not answer: is it still running?" };
  }
}

async function match() {
  const number = ++asked, found = await ask();
  if (number !== asked) return;
  const reasons = found.reasons || [""], counts = reasons.map(() => 0);
  for (const { cell, title } of cells) {
    const reason = found.cells && found.cells.length ? found.cells[cell.dataset.i] : 0;
    counts[reason]++;
    cell.classList.toggle("off", reason > 0);
    cell.title = reason ? `${title}\nno match: ${reasons[reason]}` : title;
  }
  if (found.error) {
    const at = found.line ? `${found.line}:${found.column}: ` : "";
    said.textContent = `${at}${found.error}${found.hint ? `\n${found.hint}` : ""}`;
    selector.setAttribute("aria-invalid", "true");
  } else {
    const others = reasons.map((reason, at) => [counts[at], reason]).slice(1).sort((a, b) => b[0] - a[0]);
    const lines = [`${counts[0]} of ${cells.length} devices match`, ...others.slice(0, 8).map((each) => each.join(" not: "))];
    said.textContent = selector.value.trim() ? lines.join("\n") : "";
    selector.removeAttribute("aria-invalid");
  }
}

function suggest() {
  const word = selector.value.slice(0, selector.selectionStart).match(/[\w."[\]/-]*$/)[0].toLowerCase();
  const last = word.split(/[."[\]]+/).pop();
  let shown = 0;
  for (const each of names) {
    const text = each.textContent.toLowerCase();
    const fits = word && text !== word && (text.startsWith(word) || (last && text.split(".").pop().startsWith(last)));
    each.hidden = !fits || ++shown > 6;
    each.onclick = () => {
      const end = selector.selectionStart;
      selector.setRangeText(each.textContent, end - word.length, end, "end");
      selector.focus();
      typed();
    };
  }
}

function typed() {
  suggest();
  clearTimeout(timer);
  timer = setTimeout(match, 60);
}

selector.addEventListener("input", typed);
if (selector.value.trim()) match();

// What was chosen stays chosen after the page is shown again.
const looks = [...document.querySelectorAll("[name=look]")], label = (look) => look.parentElement.textContent.replace(/[\d,]+/g, "");
const kept = JSON.parse(sessionStorage.getItem("kept") || "{}");
const before = looks.find((look) => label(look) === kept.look);
if (before) before.checked = true;
document.querySelector("[name=every]").checked = Boolean(kept.every);
addEventListener("pagehide", () => {
  const look = looks.find((each) => each.checked), every = document.querySelector("[name=every]").checked;
  sessionStorage.setItem("kept", JSON.stringify({ look: look && label(look), every, y: scrollY }));
});
if (kept.y) scrollTo(0, kept.y);
// A change is taken back by its check mark.
form.addEventListener("change", ({ target }) => {
  if (target.matches("[name=drain], [name=add], [name=release], [name=taint]") && target.type === "checkbox") form.requestSubmit();
});
let turn = setTimeout(again, 10000);
function again() {
  turn = setTimeout(again, 10000);
  const isTyping = document.activeElement.matches("textarea, input:not([type])");
  if (document.querySelector("[name=every]").checked && !isTyping) form.requestSubmit(document.querySelector("[name=again]"));
}
form.addEventListener("submit", () => clearTimeout(turn)); // the answer may take longer than a turn
