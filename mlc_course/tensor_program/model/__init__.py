"""A trained network on its way from development form to deployment form."""
