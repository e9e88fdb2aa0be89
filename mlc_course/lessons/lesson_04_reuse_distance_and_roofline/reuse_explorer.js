const MOVE = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -4, PageUp: 4,
  Home: -Infinity, End: Infinity,
};

function render({ model, el }) {
  begin(el);
  const program = element("select", { "aria-label": "program", "data-testid": "program" });
  program.append(...model.get("programs").map((name) => element("option", {}, name)));
  program.addEventListener("change", () => assign(model, "program", program.value));

  const last = model.get("labels").length - 1;
  const slider = element("input", {
    type: "range", min: "0", max: String(last), step: "1", class: "mlc-wide",
    "aria-label": "size of the cache; arrow keys make it smaller or larger",
    "data-testid": "size",
  });
  const size = element("b", { "data-testid": "size-text" });
  const go = (place) => assign(model, "place", Math.min(Math.max(place, 0), last));
  slider.addEventListener("input", () => go(Number(slider.value)));
  // JupyterLab keeps the arrow keys from a slider, so they are acted on here.
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in MOVE)) return;
    event.preventDefault();
    go(model.get("place") + MOVE[event.key]);
  });
  const own = Object.entries(model.get("own")).map(([name, place]) =>
    button(name, `own-${name}`, () => go(place)));

  const measure = worker(model, "Time it here", "measure");
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const said = element("p", { class: "mlc-status", "aria-live": "polite", "data-testid": "said" });
  const table = element("div", { "data-testid": "levels" });
  const bars = element("div", { class: "mlc-chart", "data-testid": "bars" });
  const reason = element("p", { class: "mlc-status", "data-testid": "reason" });
  el.append(
    element("div", { class: "mlc-controls" },
      element("label", {}, "program ", program), measure),
    element("div", { class: "mlc-controls mlc-player" }, element("span", {}, "cache of ", size),
      slider, ...own),
    reason, chart, said, table, bars, statusLine(model),
  );

  follow(model, ["program"], () => { program.value = model.get("program"); });
  follow(model, ["place"], () => {
    slider.value = model.get("place");
    size.textContent = model.get("labels")[model.get("place")];
    slider.setAttribute("aria-valuetext", size.textContent);
  });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["bars"], () => { bars.innerHTML = model.get("bars"); });
  follow(model, ["said"], () => { said.textContent = model.get("said"); });
  follow(model, ["reason"], () => { reason.textContent = model.get("reason"); });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  follow(model, ["busy"], () => {
    for (const control of [program, measure]) control.disabled = model.get("busy");
  });
}

export default { render };
