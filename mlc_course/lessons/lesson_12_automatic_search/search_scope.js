function render({ model, el }) {
  begin(el);
  const strategy = radios(model, "strategy", "search", [
    ["random", "random tiles"], ["blind", "MetaSchedule, blind"],
    ["evolutionary", "MetaSchedule, evolving"], ["packing", "packing"],
    ["here", "made here"],
  ]);
  const course = element("select", {
    "aria-label": "what to search here", "data-testid": "course",
  });
  course.append(...model.get("courses").map((label) => element("option", {}, label)));
  course.addEventListener("change", () => assign(model, "course", course.value));
  const search = worker(model, "Search here", "measure");
  const chart = element("div", { class: "mlc-chart", "data-testid": "chart" });
  const slider = element("input", {
    type: "range", min: "1", class: "mlc-wide", "aria-label": "trial", "data-testid": "trial",
  });
  slider.addEventListener("input", () => assign(model, "selected", Number(slider.value) - 1));
  const said = element("p", {
    class: "mlc-status", "aria-live": "polite", "data-testid": "said",
  });
  const report = element("div", {
    class: "mlc-program", tabindex: "0", role: "region", "data-testid": "report",
    "aria-label": "The chosen trial beside the best",
  });
  el.append(
    element("div", { class: "mlc-controls" }, strategy),
    element("div", { class: "mlc-controls" }, course, search),
    statusLine(model), chart,
    element("label", { class: "mlc-controls mlc-player" }, "trial ", slider),
    said, tickbox(model, "programs", "programs instead of decisions"), report,
  );
  chart.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="trial-"]');
    if (part) assign(model, "selected", Number(part.id.split("-")[1]));
  });

  follow(model, ["svg"], () => {
    chart.innerHTML = model.get("svg");
    for (const part of chart.querySelectorAll('[id^="trial-"]')) part.dataset.testid = part.id;
  });
  follow(model, ["said"], () => { said.textContent = model.get("said"); });
  follow(model, ["report"], () => { report.innerHTML = model.get("report"); });
  follow(model, ["course"], () => { course.value = model.get("course"); });
  follow(model, ["count", "selected"], () => {
    slider.max = model.get("count");
    slider.value = model.get("selected") + 1;
    slider.setAttribute("aria-valuetext", `trial ${slider.value} of ${slider.max}`);
  });
  follow(model, ["busy", "measured"], () => {
    const busy = model.get("busy");
    for (const control of [strategy, course, search]) control.disabled = busy;
    strategy.querySelector('[value="here"]').disabled = !model.get("measured");
  });
}

export default { render };
