// The course's start page as a tab, which is no document: nothing in it can be unsaved. JupyterLab
// loads this script, hands it the modules that it shares, and asks for the extension: the protocol of
// webpack's containers.
(() => {
  const COMMAND = "mlc-course:start", KEPT = "mlc-course:start:";
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
        let page;
        try {
          page = await this.ask("GET");
        } catch (error) {
          this.node.textContent = `The map cannot be shown. ${error.message}`;
          return;
        }
        if (page === this.page) return;
        this.page = page;
        const top = this.node.scrollTop;
        const chosen = [...this.node.querySelectorAll("input:checked")].map((each) => each.className);
        const focused = this.node.querySelector("input:focus")?.className;
        this.node.innerHTML = page;
        const path = localStorage.getItem(`${KEPT}path`);
        for (const name of chosen.length ? chosen : [`p-${path}`]) {
          const input = this.node.querySelector(`input.${name}`);
          if (input) input.checked = true;
        }
        if (focused) this.node.querySelector(`input.${focused}`)?.focus();
        this.node.scrollTop = top;
      }

      open(link) { this.app.commands.execute("docmanager:open", { path: link.dataset.path }); }

      async click(event) {
        const link = event.target.closest("a[data-path]");
        if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
          event.preventDefault();
          this.open(link);
        }
        const { really } = event.target.dataset;
        if (really && window.confirm(really)) {
          await this.ask("DELETE");
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
