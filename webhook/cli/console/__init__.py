"""Input paths, reports, files and progress, as all commands have them."""
