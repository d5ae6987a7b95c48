"""The pages for what goes wrong: 400, 403, 404, 405, 429, 500, 503."""
