"""HTTP as all endpoints read and write it: heads, bodies, headers, errors."""
