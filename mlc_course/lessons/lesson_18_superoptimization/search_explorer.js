function render({ model, el }) {
  begin(el);
  const program = element("select", { "data-testid": "program", "aria-label": "program" });
  program.append(...model.get("programs").map(
    ([value, text]) => element("option", { value }, text)));
  program.addEventListener("change", () => assign(model, "program", program.value));
  const prunings = element("fieldset", {}, element("legend", {}, "prunings"),
    tickbox(model, "order", "order"), tickbox(model, "equal", "equal"),
    tickbox(model, "expressions", "expressions"));
  const count = worker(model, "Count deeper", "measure");
  const chart = element("div", {
    class: "mlc-chart", role: "application", tabindex: "0", "data-testid": "chart",
    "aria-label": "The tree of the search. Up and down choose among siblings, right opens, left "
      + "closes; the line above says what is chosen.",
  });
  const graph = element("div", { "data-testid": "graph" });
  const counts = element("div", { "data-testid": "counts" });
  el.append(element("div", { class: "mlc-controls" }, program, prunings, count),
    statusLine(model), chart, graph, counts);

  const choose = (place) => {
    if (place && place !== model.get("selected")) assign(model, "selected", place);
  };
  chart.addEventListener("click", (event) => {
    const row = event.target.closest('[id^="at-"]');
    if (!row) return;
    const place = row.id.slice("at-".length);
    const opened = place === model.get("selected") && place.includes("/");
    choose(opened ? model.get("moves").ArrowLeft : place);
  });
  chart.addEventListener("keydown", (event) => {
    const place = model.get("moves")[event.key];
    if (event.key in JUMPS) event.preventDefault();
    choose(place);
  });

  follow(model, ["svg"], () => {
    chart.innerHTML = model.get("svg");
    for (const row of chart.querySelectorAll('[id^="at-"]')) row.dataset.testid = row.id;
  });
  follow(model, ["graph"], () => { graph.innerHTML = model.get("graph"); });
  follow(model, ["counts"], () => { counts.innerHTML = model.get("counts"); });
  follow(model, ["program"], () => { program.value = model.get("program"); });
  follow(model, ["busy"], () => {
    for (const control of [program, prunings, count]) control.disabled = model.get("busy");
  });
}

export default { render };
