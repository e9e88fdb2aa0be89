// A card on JupyterLab's launcher that opens the list of lectures. JupyterLab loads this script, hands
// it the modules that it shares, and asks for the extension: the protocol of webpack's containers.
(() => {
  const COMMAND = "mlc-course:lectures";
  const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 52 52">
    <rect x="4" y="7" width="44" height="30" rx="3" fill="#0072b2"/>
    <path d="M12 30V24M20 30V19M28 30V22M36 30V13" stroke="#fff" stroke-width="4"/>
    <path d="M26 37V46M17 46H35" stroke="#0072b2" stroke-width="4"/></svg>`;
  let shared = {};

  const imported = async (name) => {
    const [found] = Object.values(shared[name]);
    return (await found.get())();
  };

  const plugin = ({ ILauncher }, { LabIcon }) => ({
    id: COMMAND,
    description: "A card that opens the list of lectures.",
    autoStart: true,
    optional: [ILauncher],
    activate: (app, launcher) => {
      const address = `${app.serviceManager.serverSettings.baseUrl}lecture`;
      app.commands.addCommand(COMMAND, {
        label: "Lectures",
        caption: "The lessons as slides, with a live kernel",
        icon: new LabIcon({ name: COMMAND, svgstr: ICON }),
        execute: () => { window.open(address, "_blank"); },
      });
      launcher?.add({ command: COMMAND, category: "Other" });
    },
  });

  (window._JUPYTERLAB ??= {})["mlc-course"] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const names = ["@jupyterlab/launcher", "@jupyterlab/ui-components"];
      const made = plugin(...await Promise.all(names.map(imported)));
      return () => ({ __esModule: true, default: made });
    },
  };
})();
