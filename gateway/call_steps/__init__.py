"""Steps of a call that the pipeline is handed, where no folder of their own has them."""
