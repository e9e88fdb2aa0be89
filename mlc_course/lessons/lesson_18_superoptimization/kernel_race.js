function render({ model, el }) {
  begin(el);
  const measure = worker(model, "Search, compile and time", "measure");
  const chart = element("div", {
    class: "mlc-chart", role: "img", "data-testid": "chart",
    "aria-label": "Times of the graphs as bars, NumPy's as a line; click a bar to see its graph",
  });
  const texts = element("div", { "data-testid": "texts" });

  chart.addEventListener("click", (event) => {
    const part = event.target.closest('[id^="row-"], [id^="rung-"], [id^="name-"]');
    if (part) assign(model, "selected", Number(part.id.split("-")[1]));
  });

  el.append(element("div", { class: "mlc-controls" }, measure), statusLine(model), chart, texts);

  follow(model, ["svg"], () => { chart.innerHTML = model.get("svg"); });
  follow(model, ["texts"], () => { texts.innerHTML = model.get("texts"); });
  follow(model, ["busy"], () => { measure.disabled = model.get("busy"); });
}

export default { render };
