function render({ model, el }) {
  begin(el);
  const repeats = element("input", {
    type: "number", min: "5", max: "1000", step: "5", "data-testid": "repeats",
  });
  repeats.addEventListener("change", () => {
    if (repeats.reportValidity()) assign(model, "repeats", Number(repeats.value));
  });
  const threads = radios(model, "threads", tr("NumPy and ours on"), [
    ["one", tr("one thread")], ["all", tr("all cores")],
  ]);
  const neighbours = tickbox(model, "neighbours", tr("a busy neighbour on every core"));
  const measure = worker(model, tr("Measure"), "measure");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": tr("Readings in order, and their histogram; the figures are in the table below"),
  });
  const table = element("div", { "data-testid": "runs" });
  el.append(
    element("div", { class: "mlc-controls" },
      element("label", {}, tr("rounds"), " ", repeats), threads, neighbours, measure),
    statusLine(model), chart, table,
  );

  follow(model, ["repeats"], () => { repeats.value = model.get("repeats"); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  follow(model, ["busy"], () => {
    const busy = model.get("busy");
    for (const control of [repeats, threads, measure]) control.disabled = busy;
    neighbours.querySelector("input").disabled = busy;
  });
}

export default { render };
