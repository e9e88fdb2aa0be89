function render({ model, el }) {
  begin(el);
  const buttons = model.get("choices").map((choice) => {
    const button = element("button", { type: "button", "data-testid": "choice" }, choice);
    button.addEventListener("click", () => assign(model, "guess", choice));
    return button;
  });
  const question = element("p", {}, element("b", {}, model.get("question")));
  const answers = element("div", {
    class: "mlc-controls", role: "group", "aria-label": tr("your prediction"),
  }, ...buttons);
  el.append(question, answers);
  follow(model, ["guess"], () => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.textContent === model.get("guess")));
    }
  });
}

export default { render };
