// The course's start page as a tab, which is no document: nothing in it can be unsaved. JupyterLab
// loads this script, hands it the modules that it shares, and asks for the extension: the protocol of
// webpack's containers.
(() => {
  const COMMAND = "mlc-course:start", KEPT = "mlc-course:start:";
  const TRANSLATED = /(?:^|\/)notebooks\/([a-z]{2})\/[^/]*$/;
  const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 52 52">
    <path d="M12 14H40V38H12" fill="none" stroke="#e69f00" stroke-width="4"/>
    <g fill="#0072b2"><circle cx="12" cy="14" r="8"/><circle cx="40" cy="14" r="8"/>
    <circle cx="40" cy="38" r="8"/><circle cx="12" cy="38" r="8"/></g></svg>`;
  let shared = {};

  const imported = async (name) => {
    const [found] = Object.values(shared[name]);
    return (await found.get())();
  };

  const plugin = ([application, apputils, launchers, services, components, widgets]) => {
    // The page asks the server anew whenever it is shown, since exercises are done in other tabs.
    class StartPage extends widgets.Widget {
      constructor(app) {
        super();
        this.app = app;
        this.id = "mlc-course-start";
        this.title.label = "Course map";
        this.title.closable = true;
        this.node.style.overflow = "auto";
        this.node.tabIndex = -1; // JupyterLab's current tab is the one with the focus
        this.node.style.outline = "none";
        this.node.addEventListener("click", (event) => this.click(event));
        this.node.addEventListener("change", (event) => this.change(event));
        this.node.addEventListener("keydown", (event) => this.press(event));
      }

      onAfterShow() { this.refresh(); }
      onAfterAttach() { this.refresh(); }
      onActivateRequest() { this.node.focus({ preventScroll: true }); }

      async ask(method) {
        const settings = this.app.serviceManager.serverSettings;
        const language = localStorage.getItem(`${KEPT}language`) ?? navigator.language.slice(0, 2);
        const address = `${settings.baseUrl}course?language=${language}`;
        const reply = await services.ServerConnection.makeRequest(address, { method }, settings);
        if (!reply.ok) throw new Error(await reply.text());
        return reply.text();
      }

      async refresh() {
        const asked = this.asked = Symbol();
        let page;
        try {
          page = await this.ask("GET");
        } catch (error) {
          page = error;
        }
        if (asked !== this.asked || page === this.page) return; // a later answer is on its way
        this.page = page;
        if (page instanceof Error) this.node.textContent = `The map cannot be shown. ${page.message}`;
        else this.put(page);
      }

      // What was chosen, opened and focused in the page before is so in the new one.
      put(page) {
        const named = (what) =>
          [...this.node.querySelectorAll(what)].map((each) => each.dataset.testid);
        const find = (name) => this.node.querySelector(`[data-testid="${name}"]:not([hidden])`);
        const top = this.node.scrollTop, chosen = named("input:checked");
        const opened = named("details[open]"), [focused] = named(":focus");
        const isFocused = this.node.contains(document.activeElement);
        this.node.innerHTML = page;
        const path = localStorage.getItem(`${KEPT}path`);
        for (const name of chosen.length ? chosen : [`path-${path}`]) {
          const input = find(name);
          if (input) input.checked = true;
        }
        for (const name of opened) find(name).open = true;
        if (isFocused) (find(focused) ?? this.node).focus({ preventScroll: true });
        this.node.scrollTop = top;
      }

      open(link) { this.app.commands.execute("docmanager:open", { path: link.dataset.path }); }

      async click(event) {
        const link = event.target.closest("a[data-path]");
        if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
          event.preventDefault();
          this.open(link);
        }
        const { really, failed } = event.target.dataset;
        if (really && window.confirm(really)) {
          await this.ask("DELETE").catch((error) => window.alert(`${failed} ${error.message}`));
          this.refresh();
        }
      }

      change({ target }) {
        if (target.matches("select")) {
          localStorage.setItem(`${KEPT}language`, target.value);
          this.refresh();
        } else if (target.name?.endsWith("-path")) {
          localStorage.setItem(`${KEPT}path`, target.value);
          this.follow(target.value);
        }
      }

      // A path begins with its first lesson, unless one of its lessons is chosen already.
      follow(path) {
        const on = [...this.node.querySelectorAll(`.c5 .lesson.in-${path}`)].map(
          (lesson) => this.node.querySelector(`.c-${Number(lesson.classList[1].slice(1))}`));
        if (on.length && !on.some((input) => input.checked)) on[0].checked = true;
      }

      // Enter opens the lesson that is chosen.
      press({ key, target }) {
        if (key !== "Enter" || !target.matches(".mlc-choices input")) return;
        const link = this.node.querySelector(`.of-${target.value} a[data-path]`);
        if (link) this.open(link);
      }
    }

    return {
      id: COMMAND,
      description: "The course's start page as a tab.",
      autoStart: true,
      optional: [application.ILayoutRestorer, launchers.ILauncher, apputils.ICommandPalette],
      activate: (app, restorer, launcher, palette) => {
        const tracker = new apputils.WidgetTracker({ namespace: "mlc-course-start" });
        let page = null;
        app.commands.addCommand(COMMAND, {
          label: "Course map",
          caption: "Lessons, paths through them, and what you have done",
          icon: new components.LabIcon({ name: COMMAND, svgstr: ICON }),
          execute: async () => {
            if (!page || page.isDisposed) {
              page = new StartPage(app);
              page.title.icon = new components.LabIcon({ name: `${COMMAND}:tab`, svgstr: ICON });
            }
            if (!tracker.has(page)) await tracker.add(page);
            if (!page.isAttached) app.shell.add(page, "main");
            app.shell.activateById(page.id);
          },
        });
        launcher?.add({ command: COMMAND, category: "Other", rank: 0 });
        palette?.addItem({ command: COMMAND, category: "Course" });
        // A screen reader speaks a translated notebook in its language.
        app.docRegistry.addWidgetExtension("Notebook", {
          createNew: (panel, context) => {
            const [, language] = TRANSLATED.exec(context.path) ?? [];
            if (language) panel.content.node.lang = language;
          },
        });
        restorer?.restore(tracker, { command: COMMAND, name: () => "start" });
        // Whoever opens JupyterLab and no file in particular begins here.
        const isFile = /\/tree\//.test(window.location.pathname);
        if (!isFile) app.restored.then(() => app.commands.execute(COMMAND));
      },
    };
  };

  (window._JUPYTERLAB ??= {})["mlc-course-start"] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const names = ["@jupyterlab/application", "@jupyterlab/apputils", "@jupyterlab/launcher",
        "@jupyterlab/services", "@jupyterlab/ui-components", "@lumino/widgets"];
      const made = plugin(await Promise.all(names.map(imported)));
      return () => ({ __esModule: true, default: made });
    },
  };
})();
