function render({ model, el }) {
  begin(el);
  const programs = element("select", { "data-testid": "program", "aria-label": "program" });
  programs.append(...model.get("programs").map((each) => element("option", { value: each }, each.replaceAll("_", " "))));
  programs.addEventListener("change", () => assign(model, "program", programs.value));
  follow(model, ["program"], () => { programs.value = model.get("program"); });
  const slider = element("input", {
    type: "range", min: "0", step: "1", class: "mlc-wide", "data-testid": "slider",
    "aria-label": "size of a row; arrow keys go to the next one",
  });
  const go = (wanted) => {
    const last = model.get("sizes").length - 1;
    assign(model, "place", Math.min(Math.max(wanted, 0), last));
  };
  slider.addEventListener("input", () => go(Number(slider.value)));
  slider.addEventListener("keydown", (event) => {
    if (!(event.key in JUMPS)) return;
    event.preventDefault();
    go(model.get("place") + JUMPS[event.key]);
  });
  follow(model, ["place", "sizes"], () => {
    slider.max = model.get("sizes").length - 1;
    slider.value = model.get("place");
    slider.setAttribute("aria-valuetext", String(model.get("sizes")[model.get("place")]));
  });
  const measure = worker(model, "Measure all sizes", "measure");
  const guards = element("div", { "data-testid": "guards" });
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  el.append(
    element("div", { class: "mlc-controls" }, element("label", {}, "program ", programs), measure),
    element("div", { class: "mlc-controls mlc-player" }, slider),
    statusLine(model), guards, chart,
  );
  follow(model, ["guards"], () => { guards.innerHTML = model.get("guards"); });
  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["busy"], () => {
    for (const control of [programs, slider, measure]) control.disabled = model.get("busy");
  });
}

export default { render };
