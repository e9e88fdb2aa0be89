const MOVES = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  Home: [0, -Infinity], End: [0, Infinity], PageUp: [-Infinity, 0], PageDown: [Infinity, 0],
};

function render({ model, el }) {
  begin(el);
  const view = radios(model, "view", "what the map shows",
    model.get("views").map((name) => [name, name]));
  const source = radios(model, "source", "figures", [
    ["recorded", "recorded"], ["here", "measured here"],
  ]);
  const measure = worker(model, "Measure here", "measure");
  const chart = element("div", {
    class: "mlc-chart mlc-tiles", role: "application", tabindex: "0", "data-testid": "chart",
    "aria-label": "Map of tiles. Arrow keys choose one; it is described beside the map.",
  });
  const card = element("div", { class: "mlc-chart", "data-testid": "card" });
  const label = element("p", {
    class: "mlc-hidden", "aria-live": "polite", "data-testid": "label",
  });
  el.append(
    element("div", { class: "mlc-controls" }, view, source, measure),
    statusLine(model), element("div", { class: "mlc-beside" }, chart, card), label,
  );

  const select = (row, column) => {
    const [rows, columns] = model.get("shape");
    model.set("row", Math.min(Math.max(row, 0), rows - 1));
    model.set("column", Math.min(Math.max(column, 0), columns - 1));
    model.save_changes();
  };
  const point = (event) => {
    const cell = event.target.closest('[id^="cell-"]');
    if (!cell) return;
    const [, row, column] = cell.id.split("-").map(Number);
    if (row !== model.get("row") || column !== model.get("column")) select(row, column);
  };
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  chart.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    const [down, right] = MOVES[event.key];
    select(model.get("row") + down, model.get("column") + right);
  });

  follow(model, ["svg"], () => {
    chart.innerHTML = model.get("svg");
    for (const cell of chart.querySelectorAll('[id^="cell-"]')) cell.dataset.testid = cell.id;
  });
  follow(model, ["card"], () => { card.innerHTML = model.get("card"); });
  follow(model, ["label"], () => { label.textContent = model.get("label"); });
  follow(model, ["busy", "measured"], () => {
    const busy = model.get("busy");
    for (const control of [measure, source]) control.disabled = busy;
    source.querySelector('[value="here"]').disabled = !model.get("measured");
  });
}

export default { render };
