function render({ model, el }) {
  begin(el);
  const measure = worker(model, "Search, compile and time", "measure");
  const { chart, draw } = chooser(model,
    "Graphs, the fastest first. Arrow keys choose one; its program is shown below.",
    '[id^="row-"], [id^="rung-"], [id^="name-"]', () => model.get("names"));
  const texts = element("div", { "data-testid": "texts" });

  el.append(element("div", { class: "mlc-controls" }, measure), statusLine(model), chart, texts);

  follow(model, ["svg"], () => draw('[id^="row-"]'));
  follow(model, ["texts"], () => { texts.innerHTML = model.get("texts"); });
  follow(model, ["busy"], () => { measure.disabled = model.get("busy"); });
}

export default { render };
