"""Small additions to the product, each made through a registry alone, as a stranger would."""
