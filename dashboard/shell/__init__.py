"""The frame around every page: navigation, the command palette, themes."""
