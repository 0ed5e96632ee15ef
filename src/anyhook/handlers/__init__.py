"""One file per kind of handler, behind one Protocol."""
