"""Pictures, as SVG or HTML text, one module for each kind; widgets and notebooks show them."""
