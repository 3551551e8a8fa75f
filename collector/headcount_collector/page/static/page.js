// What the page does beyond its HTML: clocks that go on, local times, the state of the live stream, copying, the chart.
// Everything is readable and every form works without it.
"use strict";

const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];

function span(seconds) {
  seconds = Math.max(0, Math.floor(seconds));
  for (const [size, unit, smaller, name] of UNITS) {
    if (seconds >= size) {
      const whole = Math.floor(seconds / size), rest = Math.floor((seconds % size) / smaller);
      return rest ? `${whole}${unit} ${rest}${name}` : `${whole}${unit}`;
    }
  }
  return `${seconds}s`;
}

function age() {
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-ago]")) {
    const moment = Date.parse(element.dateTime);
    const text = moment <= now ? span((now - moment) / 1000) : `in ${span((moment - now) / 1000)}`;
    if (element.textContent !== text) element.textContent = text;
  }
}

function localise() {
  const today = new Date().toDateString();
  const two = number => String(number).padStart(2, "0");
  for (const element of document.querySelectorAll("time[data-at]")) {
    const at = new Date(element.dateTime);
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `;
    element.textContent = at.toDateString() === today ? clock : day + clock;
  }
}

function remember() {
  for (const input of document.querySelectorAll("input[data-remember]")) {
    const key = `headcount.${input.dataset.remember}`;
    try {
      if (!input.value) input.value = localStorage.getItem(key) || "";
      input.addEventListener("change", () => localStorage.setItem(key, input.value));
    } catch (error) { /* a browser that keeps nothing still works */ }
  }
}

function live(on) {
  const place = document.querySelector("#live span");
  if (!place) return;
  place.dataset.live = on ? "on" : "off";
  place.textContent = on ? "live" : "Not live: reload to see what is new.";
}

async function chart() {
  const place = document.querySelector("[data-chart]");
  if (!place || !window.uPlot || place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const { evaluations } = await (await fetch(place.dataset.chart)).json();
  if (evaluations.length < 2) return;
  const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line") }, ticks: { stroke: colour("--line") } };
  const column = name => evaluations.map(row => row[name]);
  new uPlot({
    width: place.clientWidth, height: 180,
    series: [{}, { label: "watched runs", stroke: colour("--bar-work"), width: 2 },
             { label: "took ms", stroke: colour("--bar-delivery"), scale: "ms" },
             { label: "late ms", stroke: colour("--bar-wait"), scale: "ms" }],
    axes: [axis, axis, { ...axis, side: 1, scale: "ms", grid: { show: false } }],
  }, [evaluations.map(row => Date.parse(row.at) / 1000), column("open_runs"), column("took_ms"), column("late_ms")], place);
}

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it"; });
});

if (window.Idiomorph) {
  Object.assign(Idiomorph.defaults, { ignoreActiveValue: true, restoreFocus: true });
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.tagName === "DETAILS");
  Idiomorph.defaults.callbacks.beforeNodeMorphed = old =>
    !(old.nodeType === 1 && (old.hasAttribute("data-keep") || old.hasAttribute("data-drawn")));
}
document.addEventListener("htmx:sseOpen", () => live(true));
document.addEventListener("htmx:sseError", () => live(false));
document.addEventListener("htmx:afterSettle", () => { age(); localise(); remember(); chart(); });
localise(); age(); remember(); chart();
setInterval(age, 1000);
