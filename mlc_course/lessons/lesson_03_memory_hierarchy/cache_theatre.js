// A list of choices for a trait; numbers stay numbers.
const choices = (model, trait, text, options) => {
  const list = element("select", { "data-testid": trait });
  list.append(...options.map((value) => element("option", { value }, String(value))));
  const number = typeof options[0] === "number";
  list.addEventListener("change", () => {
    assign(model, trait, number ? Number(list.value) : list.value);
  });
  follow(model, [trait], () => { list.value = String(model.get(trait)); });
  return element("label", {}, `${text} `, list);
};

// What the picture shows after `step` accesses; every value was computed in Python.
const pose = (chart, frames, step) => {
  const held = frames.held[step];
  const lines = new Set(held.map((line) => `line-${line}`));
  for (const line of chart.querySelectorAll('[id^="line-"]')) {
    line.setAttribute("class", lines.has(line.id) ? "held" : "");
  }
  held.forEach((line, place) => {
    const here = step > 0 && frames.place[step - 1] === place;
    const box = chart.querySelector(`#place-${place}`);
    const verdict = here ? (frames.hit[step - 1] ? " hit" : " miss") : "";
    box.setAttribute("class", (line < 0 ? "" : "full") + verdict);
    box.querySelector("text").textContent = line < 0 ? "" : frames.labels[line];
  });
  const now = chart.querySelector("#now");
  now.style.visibility = step > 0 ? "visible" : "hidden";
  if (step > 0) {
    const [x, y, side] = frames.box[step - 1];
    for (const [name, value] of Object.entries({ x, y, width: side, height: side })) {
      now.setAttribute(name, value);
    }
  }
  chart.querySelector("#done").setAttribute("width", frames.across[step] - frames.across[0]);
};

function render({ model, el }) {
  begin(el);
  const sizes = model.get("sizes");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Matrices, the sets and ways of the cache, and the misses so far; "
      + "the line below says what happened",
  });
  const status = element("p", { class: "mlc-status", role: "status", "data-testid": "status" });
  const { controls, restart, stop } = player(model, "accesses", status,
    (frames, step) => pose(chart, frames, step));
  const table = element("div", { "data-testid": "runs" });
  const bars = element("div", { class: "mlc-chart", "data-testid": "bars" });
  el.append(
    element("div", { class: "mlc-controls" },
      choices(model, "program", "program", model.get("programs")),
      choices(model, "sets", "sets", sizes.sets),
      choices(model, "ways", "ways", sizes.ways),
      choices(model, "line", "bytes in a line", sizes.line)),
    controls,
    status, chart, table, bars,
  );

  follow(model, ["stage"], () => { stop(); chart.innerHTML = model.get("stage"); restart(); });
  follow(model, ["program"], () => {
    const drawn = model.get("bars");
    bars.innerHTML = drawn[model.get("program")] ?? drawn[""] ?? "";
  });
  follow(model, ["table"], () => { table.innerHTML = model.get("table"); });
  return stop;
}

export default { render };
